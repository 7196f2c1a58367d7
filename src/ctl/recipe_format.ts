/** Parses recipe files. A recipe is checked when it is set; the actions process trusts what is stored. */

import { createHash } from "node:crypto";
import type { Auth, Recipe, Setting } from "#src/actions/crm/recipe.ts";
import { findJsonFault, jsonFaults, lineAndColumn } from "#src/lead/body_fault.ts";
import { isObject, withoutByteOrderMark } from "#src/lead/json.ts";

/** The bounds of a recipe. Chosen: several times what the shipped recipes need. */
export const recipeBounds = {
  textBytesMax: 65_536,
  stepsMax: 8,
  settingsMax: 40,
  requestsMax: 1_000,
} as const;

/** What a member may be: a text or an expression, a text with a pattern and the pattern in words, or a check of its own. */
type Rule =
  | "text"
  | "boolean"
  | { readonly pattern: RegExp; readonly be: string }
  | ((value: unknown, at: string, faults: string[]) => void);

interface Shape {
  readonly required: Readonly<Record<string, Rule>>;
  readonly optional?: Readonly<Record<string, Rule>>;
}

// Every object has a member `constructor`.
const name = /^(?!constructor$)[a-z][a-z0-9_]{0,39}$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** The headers that describe the message or the connection, and the one that `auth` sets. */
const reservedHeader =
  /^(?:host|content-length|content-type|connection|transfer-encoding|authorization|expect|te|upgrade|trailer|keep-alive|proxy-.*)$/i;
const setting = { pattern: name, be: "the name of a setting" };
const oauthShape: Shape = {
  required: { kind: "text", token_url: setting, client_id: setting, client_secret: setting },
  optional: {
    scope: setting,
    client_auth: { pattern: /^(?:basic|body)$/, be: "basic or body" },
    scheme: { pattern: token, be: "one word, such as Bearer" },
  },
};

const authShapes: Readonly<Record<Auth["kind"], Shape>> = {
  none: { required: { kind: "text" } },
  bearer: { required: { kind: "text", token: setting } },
  basic: { required: { kind: "text", user: setting, password: setting } },
  header: { required: { kind: "text", name: checkAuthHeader, value: setting } },
  oauth2_client_credentials: oauthShape,
  oauth2_refresh_token: { ...oauthShape, required: { ...oauthShape.required, refresh_token: setting } },
};

const recipeShape: Shape = {
  required: { title: "text", settings: checkSettings, auth: checkAuth, steps: checkSteps },
  optional: { checked: "text", unconfirmed: "boolean", hosts: checkHosts, rate: checkRate },
};

const settingShape: Shape = {
  required: { about: "text" },
  optional: {
    secret: "boolean",
    optional: "boolean",
    default: "text",
    values: checkValues,
    number: "boolean",
  },
};

const stepShape: Shape = {
  required: {
    name: { pattern: name, be: "a name of a-z, 0-9 and _" },
    method: { pattern: /^(?:GET|POST|PUT|PATCH|DELETE)$/, be: "GET, POST, PUT, PATCH or DELETE" },
    url: "text",
  },
  optional: {
    always: "boolean",
    when: "text",
    headers: checkHeaders,
    json: "text",
    form: "text",
    outcome: "text",
    keep: "text",
  },
};

function checkShape(
  value: unknown,
  at: string,
  faults: string[],
  { required, optional = {} }: Shape,
): boolean {
  if (!isObject(value)) return fault(faults, `${at || "The recipe"} must be an object`);
  const before = faults.length;
  const prefix = at === "" ? "" : `${at}.`;
  const rules: Readonly<Record<string, Rule>> = { ...required, ...optional };
  for (const member of Object.keys(value)) {
    if (!Object.hasOwn(rules, member)) {
      faults.push(`${prefix}${member} is unknown; known are ${Object.keys(rules).join(", ")}`);
    }
  }
  for (const [member, rule] of Object.entries(rules)) {
    if (Object.hasOwn(value, member)) checkMember(value[member], `${prefix}${member}`, faults, rule);
    else if (Object.hasOwn(required, member)) faults.push(`${prefix}${member} is missing`);
  }
  return faults.length === before;
}

function checkMember(value: unknown, at: string, faults: string[], rule: Rule): void {
  if (typeof rule === "function") return rule(value, at, faults);
  if (rule === "boolean") {
    if (typeof value !== "boolean") faults.push(`${at} must be true or false`);
  } else if (rule === "text") {
    if (typeof value !== "string" || value.trim() === "") faults.push(`${at} must be a text`);
  } else if (typeof value !== "string" || !rule.pattern.test(value)) faults.push(`${at} must be ${rule.be}`);
}

function fault(faults: string[], text: string): false {
  faults.push(text);
  return false;
}

function checkSettings(value: unknown, at: string, faults: string[]): void {
  if (!isObject(value)) return void fault(faults, `${at} must be an object`);
  const names = Object.keys(value);
  if (names.length > recipeBounds.settingsMax) {
    faults.push(`${at} has more than ${recipeBounds.settingsMax} members`);
  }
  for (const one of names) {
    if (!name.test(one)) {
      faults.push(`${at}.${one} cannot have this name; use a-z, 0-9 and _, such as base_url`);
    }
    const isSound = checkShape(value[one], `${at}.${one}`, faults, settingShape);
    const { secret, default: given } = isSound ? value[one] as Setting : {};
    if (secret && given !== undefined) faults.push(`${at}.${one} is a secret, so it cannot have a default`);
  }
}

function checkValues(value: unknown, at: string, faults: string[]): void {
  const isList = Array.isArray(value) && value.length > 0;
  if (!isList || !value.every((one) => typeof one === "string" && one.trim() !== "")) {
    faults.push(`${at} must be a list of texts`);
  }
}

function checkAuth(value: unknown, at: string, faults: string[]): void {
  const kind = isObject(value) ? value.kind : undefined;
  if (typeof kind === "string" && Object.hasOwn(authShapes, kind)) {
    checkShape(value, at, faults, authShapes[kind as Auth["kind"]]);
  } else faults.push(`${at}.kind must be one of ${Object.keys(authShapes).join(", ")}`);
}

function checkAuthHeader(value: unknown, at: string, faults: string[]): void {
  checkMember(value, at, faults, { pattern: token, be: "the name of a header" });
  const isReserved = reservedHeader.test(String(value)) && !/^authorization$/i.test(String(value));
  if (isReserved) faults.push(`${at}: the header ${value} cannot be set`);
}

function checkHosts(value: unknown, at: string, faults: string[]): void {
  const pattern = /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
  if (!Array.isArray(value) || !value.every((host) => typeof host === "string" && pattern.test(host))) {
    faults.push(`${at} must be a list of host names, such as api.crm.example or *.crm.example`);
  }
}

function checkRate(value: unknown, at: string, faults: string[]): void {
  const isWithin = (number: unknown, max: number) =>
    Number.isInteger(number) && number as number >= 1 && number as number <= max;
  const { requests, seconds, ...others } = isObject(value) ? value : {};
  const { requestsMax } = recipeBounds;
  if (!isWithin(requests, requestsMax) || !isWithin(seconds, 3_600) || Object.keys(others).length > 0) {
    faults.push(`${at} must be {"requests":1–${requestsMax},"seconds":1–3600}`);
  }
}

function checkHeaders(value: unknown, at: string, faults: string[]): void {
  if (!isObject(value)) return void fault(faults, `${at} must be an object`);
  for (const [header, expression] of Object.entries(value)) {
    if (!token.test(header) || reservedHeader.test(header)) faults.push(`${at}.${header} cannot be set`);
    checkMember(expression, `${at}.${header}`, faults, "text");
  }
}

function checkSteps(value: unknown, at: string, faults: string[]): void {
  const { stepsMax } = recipeBounds;
  if (!Array.isArray(value) || value.length === 0 || value.length > stepsMax) {
    return void fault(faults, `${at} must be a list of 1 to ${stepsMax} steps`);
  }
  const names = new Set<string>();
  for (const [index, step] of value.entries()) {
    if (!checkShape(step, `${at}[${index}]`, faults, stepShape)) continue;
    if (names.has(step.name)) faults.push(`${at}[${index}].name is used twice`);
    names.add(step.name);
    if (step.json !== undefined && step.form !== undefined) {
      faults.push(`${at}[${index}] has both json and form; a request has one body`);
    } else if (step.method === "GET" && (step.json ?? step.form) !== undefined) {
      faults.push(`${at}[${index}] has a body, but GET requests have none`);
    }
  }
}

export type ParsedRecipe = { readonly recipe: Recipe } | { readonly faults: readonly string[] };

/** Parses a recipe file and checks its form. */
export function parseRecipe(text: string): ParsedRecipe {
  if (Buffer.byteLength(text) > recipeBounds.textBytesMax) {
    return { faults: [`The recipe is longer than ${recipeBounds.textBytesMax} bytes`] };
  }
  const json = withoutByteOrderMark(text);
  const found = findJsonFault(json);
  if (found === null) return readRecipe(JSON.parse(json));
  const { line, column } = lineAndColumn(json, found.at);
  return { faults: [`The recipe is not JSON: line ${line}, column ${column}: ${jsonFaults[found.kind]}`] };
}

function readRecipe(value: unknown): ParsedRecipe {
  const faults: string[] = [];
  if (!checkShape(value, "", faults, recipeShape)) return { faults };
  const file = value as unknown as Omit<Recipe, "hosts"> & Partial<Pick<Recipe, "hosts">>;
  const recipe: Recipe = { ...file, hosts: file.hosts ?? [] };
  const { auth, settings, steps } = recipe;
  for (const [member, named] of authSettings(auth)) {
    if (!Object.hasOwn(settings, named)) {
      faults.push(`auth.${member} names the setting ${named}, which is not in settings`);
    } else if (settings[named]?.optional && member !== "scope") {
      faults.push(`settings.${named} cannot be optional, because auth.${member} needs it`);
    }
  }
  for (const [index, { headers = {} }] of steps.entries()) {
    for (const header of Object.keys(headers)) {
      if (auth.kind === "header" && header.toLowerCase() === auth.name.toLowerCase()) {
        faults.push(`steps[${index}].headers.${header} cannot be set; auth sets it`);
      }
    }
  }
  return faults.length > 0 ? { faults } : { recipe };
}

/** Returns the members of an authentication that name settings. */
export function authSettings(auth: Auth): [member: string, setting: string][] {
  const literals = ["kind", "client_auth", "scheme", ...(auth.kind === "header" ? ["name"] : [])];
  return Object.entries(auth).filter(([member]) => !literals.includes(member));
}

/**
 * Returns what identifies the account at the CRM: a digest of the secrets and of the settings that authenticate. Without any of
 * them, the recipe and all settings identify it, so that only routes to the same place share a rate.
 */
export function credentialOf(
  recipe: Recipe,
  values: Readonly<Record<"settings" | "secrets", Readonly<Record<string, string>>>>,
): string {
  const { settings, secrets } = values;
  const named = authSettings(recipe.auth).map(([, setting]) => [setting, settings[setting] ?? ""] as const);
  // With another client secret, the last refresh token that the CRM issued stays the only valid one.
  const { auth } = recipe;
  const kept = Object.entries(secrets).filter(([name]) =>
    auth.kind !== "oauth2_refresh_token" || name === auth.refresh_token
  );
  const account = [...named, ...kept];
  const identity = account.some(([, value]) => value !== "")
    ? account
    : [["", versionOf(recipe)], ...Object.entries(settings)];
  const sorted = identity.map((pair) => JSON.stringify(pair)).sort();
  return createHash("sha256").update(sorted.join("\n")).digest("hex");
}

/** Returns what identifies the CRM that a recipe sends to: its title, its authentication and the hosts that it may reach. */
export function receiverOf({ title, auth, hosts, settings }: Recipe): string {
  const urls = Object.entries(settings).filter(([, { default: given }]) => /^https:/i.test(given ?? ""))
    .map(([setting, { default: given }]) => [setting, given]);
  return JSON.stringify([title, auth, hosts, urls]);
}

/** Returns what identifies the content of a recipe. */
export function versionOf(recipe: Recipe): string {
  return createHash("sha256").update(JSON.stringify(recipe)).digest("hex").slice(0, 12);
}
