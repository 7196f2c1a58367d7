/** The recipes that are part of a release. */

import type { Recipe } from "./recipe.ts";
import gohighlevel from "./recipes/gohighlevel.json" with { type: "json" };
import hubspot from "./recipes/hubspot.json" with { type: "json" };
import jobnimbus from "./recipes/jobnimbus.json" with { type: "json" };
import pipedrive from "./recipes/pipedrive.json" with { type: "json" };
import salesforce from "./recipes/salesforce.json" with { type: "json" };
import salesforce_web_to_lead from "./recipes/salesforce_web_to_lead.json" with { type: "json" };
import servicetitan from "./recipes/servicetitan.json" with { type: "json" };
import webhook_json from "./recipes/webhook_json.json" with { type: "json" };
import zoho from "./recipes/zoho.json" with { type: "json" };

const files: Readonly<Record<string, unknown>> = {
  gohighlevel,
  hubspot,
  jobnimbus,
  pipedrive,
  salesforce,
  salesforce_web_to_lead,
  servicetitan,
  webhook_json,
  zoho,
};

export const shippedNames: readonly string[] = Object.keys(files);

const recipes: ReadonlyMap<string, Recipe> = new Map(
  Object.entries(files).map(([name, file]) => {
    const recipe = file as Omit<Recipe, "hosts"> & Partial<Recipe>;
    // Members keep the file's order.
    return [name, { ...recipe, hosts: recipe.hosts ?? [] }];
  }),
);

/** Returns a shipped recipe; `null` if there is none of the name. */
export function shippedRecipe(name: string): Recipe | null {
  return recipes.get(name) ?? null;
}
