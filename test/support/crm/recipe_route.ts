/** Sets a tenant's CRM route to a recipe, as an operator does. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../folder.ts";
import { ctl } from "../server.ts";

/** A recipe with its settings; secrets are passed to `ctl` in files. */
export interface RecipeRoute {
  /** The name of a shipped recipe, or a recipe file. */
  readonly crm?: string;
  readonly set?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Further arguments, such as `--source`. */
  readonly more?: readonly string[];
}

/** Runs `ctl tenant route` and returns its JSON. */
// deno-lint-ignore no-explicit-any
export function setRecipe(databaseUrl: string, tenant: string, route: RecipeRoute): Promise<any> {
  const { crm, set = {}, secrets = {}, more = [] } = route;
  const folder = temporaryFolder("secrets");
  const secretFiles = Object.entries(secrets).map(([name, value]) => {
    const file = join(folder, name);
    writeFileSync(file, value);
    return `${name}=${file}`;
  });
  return ctl([
    "tenant",
    "route",
    tenant,
    ...(crm === undefined ? [] : ["--crm", crm]),
    ...Object.entries(set).flatMap(([name, value]) => ["--set", `${name}=${value}`]),
    ...secretFiles.flatMap((secret) => ["--secret", secret]),
    ...more,
  ], { databaseUrl });
}
