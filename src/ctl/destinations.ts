/**
 * The destinations as the operator names them, and how a tenant's routes are shown.
 *
 * @module
 */

import { namedKinds, type RouteScope } from "#src/store/delivery/effects.ts";
import type { StoredRoute } from "#src/store/delivery/routes.ts";
import { type OptionRule, WrongUsage } from "./command.ts";
import { record, safe } from "./terminal.ts";

/** A destination as the operator sees it, under the option that sets its address; `none` takes the address away. */
export interface DestinationOption extends OptionRule {
  readonly kind: string;
  /** Its name for people. */
  readonly label: string;
  /** Checks what is given and returns the addresses as they are stored. */
  readonly parse: (text: string, option: string) => readonly string[];
  /** It has a list of addresses. */
  readonly isList?: true;
  /** Whoever knows the address can write there: no more than its host is shown. */
  readonly isSecret?: true;
  /** What is sent is signed with a secret, which is shown once. */
  readonly isSigned?: true;
}

/** Every destination, in the order in which they are shown. What each sends is in src/actions/. */
export const destinations: Readonly<Record<string, DestinationOption>> = {
  "crm-url": {
    kind: "crm",
    label: "CRM",
    value: "URL",
    description: "post each lead to this https address, signed; prints the secret",
    parse: httpsUrl("https://crm.example.com/leads"),
    isSigned: true,
  },
  email: {
    kind: "email",
    label: "Email",
    value: "A[,B…]",
    description: "mail each lead to these addresses, a mail each",
    parse: parseEmails,
    isList: true,
  },
  "slack-url": {
    kind: "slack",
    label: "Slack",
    value: "URL",
    description: "write each lead to a Slack channel, by its incoming webhook",
    parse: httpsUrl("https://hooks.slack.com/services/…"),
    isSecret: true,
  },
};

const entries = Object.entries(destinations);

const urlLengthMax = 2_000;
// Chosen: more people than one lead concerns; a list of more is a mailing list's task.
const recipientsMax = 10;

/** Parses an https address, as it is stored: the one spelling that the URL parser makes of it. */
function httpsUrl(example: string): DestinationOption["parse"] {
  return (text, option) => {
    // The text is not repeated: it may hold a password or a token.
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null || url.protocol !== "https:" || url.hostname === "") {
      throw new WrongUsage(`--${option} must be an https address, such as ${example}`);
    }
    if (url.username !== "" || url.password !== "") {
      throw new WrongUsage(`--${option} must not hold a user or password; it would not be sent`);
    }
    if (url.hash !== "") throw new WrongUsage(`--${option} must not have a fragment (#…)`);
    if (url.href.length > urlLengthMax) {
      throw new WrongUsage(`--${option} is longer than ${urlLengthMax} characters`);
    }
    return [url.href];
  };
}

/** Plain addresses. Chosen: ASCII, because every mail server takes that; a domain may be given in punycode. */
function parseEmails(text: string, option: string): readonly string[] {
  const addresses = [...new Set(text.split(",").map((part) => part.trim()))];
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const atom = "[!#$%&'*+/=?^_`{|}~A-Za-z0-9-]+";
  const shape = new RegExp(`^(?=[^@]{1,64}@.{1,253}$)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`);
  if (!addresses.every((address) => shape.test(address))) {
    throw new WrongUsage(`--${option} must be addresses with commas between them, such as leads@example.com`);
  }
  if (addresses.length > recipientsMax) {
    throw new WrongUsage(`--${option} takes ${recipientsMax} addresses at most`);
  }
  return addresses;
}

/** An address as far as it is shown. */
function shown(kind: string, address: string): string {
  const isSecret = entries.some(([, destination]) => destination.kind === kind && destination.isSecret);
  return isSecret ? `${new URL(address).origin}/…` : address;
}

/** The scopes that have routes of their own, besides the tenant's. */
function scopesOf(routes: readonly StoredRoute[]): RouteScope[] {
  const scopes = new Map(routes.map(({ source, form }) => [`${source}\n${form}`, { source, form }]));
  return [...scopes.values()].filter(({ source, form }) => source !== "" || form !== "");
}

/** A scope in words, escaped for the terminal: `source partner-x`. */
export function scopeText({ source, form }: RouteScope): string {
  return form !== "" ? `form ${form}` : `source ${safe(source)}`;
}

/** All of a tenant's routes, for a person. */
export function routesText(tenant: string, routes: readonly StoredRoute[]): string {
  const all = { source: "", form: "" };
  const closer = scopesOf(routes);
  if (routes.length === 0) return `Tenant ${tenant} has no route; its leads wait.`;
  const own = routes.some(({ source, form }) => source === "" && form === "");
  return [
    own || closer.length === 0
      ? record([["Tenant", tenant], ...pairs(routes, all)])
      : `Tenant ${tenant} has no route of its own; what comes from elsewhere than below waits.`,
    ...closer.map((scope) =>
      record([[scope.form !== "" ? "Form" : "Source", scope.form || scope.source], ...pairs(routes, scope)])
    ),
  ].join("\n\n");
}

function pairs(routes: readonly StoredRoute[], scope: RouteScope): [string, string][] {
  return ofScope(routes, scope).map(({ label, kind, addresses }) => [
    label,
    addresses.length === 0
      ? isAll(scope) ? "-" : "as the tenant's"
      : addresses.map((address) => shown(kind, address)).join(", "),
  ]);
}

/** All of a tenant's routes as JSON: the tenant's own under the names of the options, the closer ones in `closer`. */
export function routesJson(routes: readonly StoredRoute[]): Readonly<Record<string, unknown>> {
  const members = (scope: RouteScope) =>
    Object.fromEntries(
      ofScope(routes, scope).map(({ option, kind, addresses, isList }) => {
        const places = addresses.map((address) => shown(kind, address));
        return [option.replaceAll("-", "_"), isList === true ? places : places[0] ?? null];
      }),
    );
  return {
    ...members({ source: "", form: "" }),
    closer: scopesOf(routes).map((scope) => ({
      ...(scope.form !== "" ? { form: scope.form } : { source: scope.source }),
      ...members(scope),
    })),
  };
}

function isAll({ source, form }: RouteScope): boolean {
  return source === "" && form === "";
}

/** The destinations of a scope, the two that are always named also without an address. */
function ofScope(routes: readonly StoredRoute[], scope: RouteScope) {
  const always: readonly string[] = namedKinds;
  return entries.flatMap(([option, destination]) => {
    const { kind } = destination;
    const found = routes.find((one) =>
      one.kind === kind && one.source === scope.source && one.form === scope.form
    );
    if (found === undefined && !always.includes(kind)) return [];
    return [{ ...destination, option, addresses: found?.addresses ?? [] }];
  });
}
