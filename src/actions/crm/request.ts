/** Evaluates the request of a recipe's step. */

import type { EventToRender } from "../destination.ts";
import { type Failed, failed, responseText, waiting } from "../outcome.ts";
import type { Mask } from "../secret_mask.ts";
import {
  endedThread,
  type Expression,
  type Expressions,
  type JobResult,
  noThread,
  type Response,
} from "./expressions.ts";
import { isAllowedHost } from "./hosts.ts";
import type { Auth, ConfiguredRecipe, OAuth, Step } from "./recipe.ts";
import { basicCredentials, type Token } from "./tokens.ts";

/** What the expressions of a recipe see, and what hides its secrets. */
export interface RecipeContext extends EventToRender {
  readonly expressions: Expressions;
  readonly configured: ConfiguredRecipe;
  readonly mask: Mask;
  /** What the responses to earlier steps gave. */
  kept: Readonly<Record<string, unknown>>;
  token: Token | null;
}

export interface RenderedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A failed expression; the message may quote the lead. */
export interface Fault {
  readonly name: string;
  readonly message: string;
}

const bodyBytesMax = 256 * 1024;
/** What a header's value may have. */
export const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Evaluates a step's request; `null` if its `when` is false. */
export async function renderRequest(
  step: Step,
  context: RecipeContext,
): Promise<RenderedRequest | Failed | null> {
  const values = await evaluate(requestExpressions(step), context, { when: step.when });
  if (values === null) return null;
  const fail = (name: string, message: string) => expressionFailed(step, { name, message }, context);
  const fault = firstFault(values);
  if (fault !== null) return fail(fault.name, fault.message);
  const text = (name: string) => textOf(values, name);
  const headers = Object.keys(step.headers ?? {}).flatMap((name) => {
    const value = text(`headers.${name}`);
    return value === null ? [] : [[name, value] as const];
  });
  if (headers.some(([, value]) => !headerValue.test(value))) {
    return fail("headers", "must be Latin-1 on one line");
  }
  const bodyName = step.json !== undefined ? "json" : "form";
  const body = text(bodyName);
  if (body === null && step[bodyName] !== undefined) return fail(bodyName, "has no value");
  if (Buffer.byteLength(body ?? "") > bodyBytesMax) {
    return fail(bodyName, `is longer than ${bodyBytesMax} bytes`);
  }
  const url = text("url") ?? "";
  if (!isAllowedHost(url, context.configured)) {
    const answer = `${step.name}.url: the recipe may not reach this host`;
    return { ...failed("host_refused"), kind: "refused", answer };
  }
  const type = bodyName === "form" ? "application/x-www-form-urlencoded" : "application/json";
  return {
    method: step.method,
    url: new URL(url).href,
    headers: {
      ...(headers.some(([name]) => /^accept$/i.test(name)) ? {} : { Accept: "application/json" }),
      ...(body === null ? {} : { "Content-Type": type }),
      ...Object.fromEntries(headers),
    },
    body,
  };
}

/** Returns the expressions of a step's request. Only those of the URL and the headers see the secrets. */
export function requestExpressions({ url, headers = {}, json, form }: Step): Expression[] {
  return [
    { name: "url", text: url, as: "text", seesSecrets: true },
    ...Object.entries(headers).map(([name, text]) =>
      ({ name: `headers.${name}`, text, as: "text", seesSecrets: true }) as const
    ),
    ...(json === undefined ? [] : [{ name: "json", text: json, as: "json" } as const]),
    ...(form === undefined ? [] : [{ name: "form", text: form, as: "form" } as const]),
  ];
}

export function evaluate(
  expressions: readonly Expression[],
  { expressions: threads, event, tenant, isTest, earlier, configured: { settings, secrets }, kept, token }:
    RecipeContext,
  { when, response }: { readonly when?: string | undefined; readonly response?: Response },
): Promise<JobResult> {
  return threads.evaluate(tenant.slug, {
    event: { event, tenant, isTest, earlier },
    scope: { settings, kept, token: token?.answer ?? "{}", response },
    secrets,
    when,
    expressions,
  });
}

/** Returns an expression's value; `null` without one. */
export function textOf(values: NonNullable<JobResult>, name: string): string | null {
  const value = values.find((one) => one.name === name);
  return value !== undefined && "text" in value ? value.text : null;
}

export function firstFault(values: NonNullable<JobResult>): Fault | null {
  for (const value of values) {
    if ("fault" in value) return { name: value.name, message: value.fault.message };
  }
  return null;
}

/** Returns the outcome of an expression that failed: final, unless its thread was ended, as it may be on a busy machine. */
export function expressionFailed(step: Step, { name, message }: Fault, { mask }: RecipeContext): Failed {
  if (name === endedThread) return failed("expression_timeout");
  if (name === noThread) return waiting("crm_unfinished", 1_000);
  const answer = responseText(Buffer.from(mask.hide(`${step.name}.${name}: ${message}`)));
  return { ...failed("expression_failed"), kind: "refused", answer };
}

export function isOAuth(auth: Auth): auth is OAuth {
  return auth.kind === "oauth2_client_credentials" || auth.kind === "oauth2_refresh_token";
}

/** Returns the headers that authenticate a request. */
export function authHeaders(
  { recipe: { auth }, settings, secrets }: ConfiguredRecipe,
  accessToken: string,
): Record<string, string> {
  const value = (setting: string) => secrets[setting] ?? settings[setting] ?? "";
  switch (auth.kind) {
    case "none":
      return {};
    case "bearer":
      return { Authorization: `Bearer ${value(auth.token)}` };
    case "basic":
      return { Authorization: basicCredentials(value(auth.user), value(auth.password)) };
    case "header":
      return { [auth.name]: value(auth.value) };
    default:
      return { Authorization: `${auth.scheme ?? "Bearer"} ${accessToken}` };
  }
}
