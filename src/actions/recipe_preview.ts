/** Shows the requests of a CRM recipe without sending any. */

import { configureRoute } from "./crm/engine.ts";
import type { Expressions } from "./crm/expressions.ts";
import {
  authHeaders,
  isOAuth,
  type RecipeContext,
  type RenderedRequest,
  renderRequest,
} from "./crm/request.ts";
import type { Recipe } from "./crm/recipe.ts";
import type { Preview, PreviewedRequest, SendRequest } from "./destination.ts";
import { keptNames, membersRead, stepExpressions } from "./recipe_syntax.ts";
import { Mask } from "./secret_mask.ts";

/** Returns the requests as they would go out, with secrets masked; a failure ends the list. */
export async function previewRecipe(
  { event, tenant, isTest, earlier, route: { recipe: route, address } }: SendRequest,
  expressions: Expressions,
): Promise<Preview> {
  const configured = route === null
    ? null
    : configureRoute({ ...route, secrets: hiddenSecrets(route.secrets) });
  if (configured === null) return { requests: [], fault: `The recipe ${address} cannot be used` };
  const { recipe } = configured;
  const token = isOAuth(recipe.auth) ? { accessToken: "***", answer: madeUpToken(recipe) } : null;
  const mask = new Mask([]);
  const context: RecipeContext = {
    expressions,
    event,
    tenant,
    isTest,
    earlier,
    configured,
    mask,
    kept: {},
    token,
  };
  const requests: PreviewedRequest[] = [];
  for (const step of recipe.steps) {
    const request = await renderRequest(step, context);
    if (request === null) continue;
    if ("kind" in request) return { requests, fault: request.answer ?? request.reason };
    requests.push({ step: step.name, ...shown(request, context) });
    // A search finds nothing, so that the steps that create something are shown.
    if (step.always === true) continue;
    const kept = keptNames(step.keep ?? "").map((name) => [name, madeUpValue(name)]);
    context.kept = { ...context.kept, ...Object.fromEntries(kept) };
  }
  return { requests, fault: null };
}

function shown(request: RenderedRequest, { configured, kept, token }: RecipeContext) {
  const { method, url, headers, body } = request;
  const sent = [url, ...Object.values(headers), body ?? ""].join("\n");
  const madeUp = [token === null ? {} : JSON.parse(token.answer), kept].flatMap(Object.entries<string>);
  const { Authorization: authorization, ...auth } = authHeaders(configured, "***");
  return {
    method,
    url,
    headers: {
      ...headers,
      ...auth,
      ...(authorization === undefined ? {} : { Authorization: authorization.replace(/ .*/s, " ***") }),
    },
    body,
    madeUp: madeUp.filter(([, value]) => sent.includes(value)).map(([name]) => name),
  };
}

/** Returns stand-ins for secrets, so that no expression can show one; of a URL, the host is needed. */
function hiddenSecrets(secrets: Readonly<Record<string, string>>): Record<string, string> {
  const hidden = Object.entries(secrets).map(([name, value]) => [
    name,
    /^https:/i.test(value) && URL.canParse(value) ? `${new URL(value).origin}/***` : "***",
  ]);
  return Object.fromEntries(hidden);
}

/** Returns a value that stands for one that only the CRM's response has. */
function madeUpValue(name: string): string {
  return `made-up-${name.replaceAll("_", "-")}`;
}

/** Returns a token's response, as JSON, with what the recipe reads of it; URLs are within the recipe's hosts. */
export function madeUpToken({ steps, hosts }: Recipe): string {
  const names = steps.flatMap(stepExpressions).flatMap(({ text }) => membersRead(text, "token"));
  const url = `https://${(hosts[0] ?? "crm.example").replace("*", "made-up")}`;
  return JSON.stringify(
    Object.fromEntries(names.map(({ name }) => [name, /url|domain/.test(name) ? url : madeUpValue(name)])),
  );
}
