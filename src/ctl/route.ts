/** `ctl tenant route` */

import { randomBytes } from "node:crypto";
import { askActions } from "./actions_request.ts";
import {
  type Command,
  type Input,
  type OptionRule,
  Refused,
  type Reply,
  type Surroundings,
  WrongUsage,
} from "./command.ts";
import { requireTenant } from "./list.ts";
import { record, safe, table } from "./terminal.ts";
import { parseLine } from "./values.ts";
import type { Environment } from "#src/settings/reader.ts";
import { namedKinds, type RouteScope } from "#src/store/delivery/effects.ts";
import {
  changeRoute,
  type DestinationChange,
  hasScope,
  noteRouteTest,
  readRoutes,
  routesMax,
  type StoredRoute,
} from "#src/store/delivery/routes.ts";
import { effectName } from "#src/store/operator/event_effects.ts";
import type { Pool } from "#src/store/pool.ts";

/** A destination as the operator sees it, under the option that sets its address; `none` takes the address away. */
interface DestinationOption extends OptionRule {
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
const destinations: Readonly<Record<string, DestinationOption>> = {
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
function scopeText({ source, form }: RouteScope): string {
  return form !== "" ? `form ${form}` : `source ${safe(source)}`;
}

/** All of a tenant's routes, for a person. */
function routesText(tenant: string, routes: readonly StoredRoute[]): string {
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
function routesJson(routes: readonly StoredRoute[]): Readonly<Record<string, unknown>> {
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

/**
 * The settings by which the service reaches the actions process: the environment's, or else those of the `npm start` that
 * runs here.
 *
 * @throws {Refused} with what to do, when there is neither
 */
function findActions({ environment, developmentSettings }: Surroundings): Environment {
  const found = [environment, developmentSettings()].find((from) => from?.ACTIONS_URL?.trim());
  if (found) return found;
  throw new Refused(
    "ACTIONS_URL is not set, and no npm start with an actions process is running here. Set it, ACTIONS_CA_FILE, " +
      "ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE as the service has them",
  );
}

/** One recipient's, as the actions process tells it. */
interface Result {
  readonly effect: string;
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
  readonly duration_ms: number;
}

/** What it answers to a test, or to one that it refuses. */
interface TestAnswer {
  readonly event_id?: string;
  readonly results?: readonly Result[];
  readonly error?: unknown;
}

// More than the longest bound that an effect can be given, which the actions process keeps by itself.
const timeoutMs = 130_000;

/** @throws {Refused} when there is no answer, or none of its own */
async function post(
  settings: Environment,
  body: unknown,
): Promise<{ readonly status: number; readonly json: TestAnswer | null }> {
  try {
    const { status, text } = await askActions(settings, { path: "/v1/tests", body, timeoutMs });
    return { status, json: JSON.parse(text) };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Refused(
      `The actions process at ${settings.ACTIONS_URL} does not answer (${
        code ?? message
      }); ctl doctor says why`,
      { cause: error },
    );
  }
}

/**
 * Has the actions process try the routes of a scope, and notes it in the audit.
 *
 * @throws {Refused} when nothing could be tried
 */
async function testRoute(
  pool: Pool,
  surroundings: Surroundings,
  { tenant, scope, whose }: {
    readonly tenant: string;
    readonly scope: RouteScope;
    /** The scope in words, for a refusal. */
    readonly whose: string;
  },
): Promise<Reply> {
  const settings = findActions(surroundings);
  const { status, json } = await post(settings, { tenant, ...scope });
  if (json?.error === "no_route") {
    throw new Refused(`Nothing to try: no route takes what comes from ${whose}`);
  }
  if (status !== 200 || json?.results === undefined) {
    throw new Refused(
      `The actions process answered ${status}${
        typeof json?.error === "string" ? ` ${safe(json.error)}` : ""
      }; nothing was sent. Has it this version, and this database?`,
    );
  }
  const { results } = json;
  const failures = results.filter(({ outcome }) => outcome === "failed");
  await noteRouteTest(pool, tenant, { scope, sent: results.length, failed: failures.length });
  return {
    json: { tenant, ...json },
    isBad: failures.length > 0,
    text: [
      table(results, "", {
        "TO": ({ effect, target }) => `${effectName(effect)} ${target}`,
        "OUTCOME": ({ outcome, reason }) => reason === null ? outcome : `${outcome}: ${reason}`,
        ">STATUS": ({ status }) => status === null ? "-" : String(status),
        ">TIME": (one) => `${one.duration_ms} ms`,
        "ANSWER": ({ answer }) => answer ?? "",
      }),
      `Sent as event ${json.event_id}, which is stored nowhere.`,
    ].join("\n\n"),
  };
}

const kinds = entries.map(([, { kind }]) => kind);

// Standard Webhooks asks for 24 to 64 bytes.
const secretBytes = 32;
// A receiver has a day to change over.
const overlapHours = 24;
// As a key's label may be.
const sourceLengthMax = 100;

function parseChanges(input: Input): DestinationChange[] {
  const cleared = input.option("clear");
  if (cleared !== undefined && !kinds.includes(cleared)) {
    throw new WrongUsage(`--clear must be ${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1)}: ${cleared}`);
  }
  return entries.flatMap(([option, { kind, label, parse, isSigned }]): DestinationChange[] => {
    const text = input.option(option);
    const rotate = isSigned === true && input.has("rotate-secret");
    if (cleared === kind && text !== undefined) {
      throw new WrongUsage(`--clear ${kind} goes without --${option}`);
    }
    if (cleared === kind || text === "none") {
      if (rotate) throw new WrongUsage(`What stops sending to ${label} goes without --rotate-secret`);
      return [{ kind, clear: true }];
    }
    if (text === undefined && !rotate) return [];
    return [{
      kind,
      ...(text === undefined ? {} : { addresses: parse(text, option) }),
      ...(rotate ? { rotate } : {}),
      ...(isSigned === true ? { secret: `whsec_${randomBytes(secretBytes).toString("base64")}` } : {}),
    }];
  });
}

function parseScope(input: Input): RouteScope {
  const sourceText = input.option("source");
  const form = input.option("form");
  if (sourceText !== undefined && form !== undefined) throw new WrongUsage("--source goes without --form");
  const source = sourceText === undefined ? "" : parseLine(sourceText, "--source", sourceLengthMax);
  if (form !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(form)) {
    throw new WrongUsage("--form must be the key of a form, such as contact");
  }
  return { source, form: form ?? "" };
}

const route = (surroundings: Surroundings): Command => ({
  words: "tenant route",
  positionals: ["SLUG"],
  options: {
    ...Object.fromEntries(
      entries.map(([option, { value, description }]) => [option, { value: `${value}|none`, description }]),
    ),
    source: { value: "LABEL", description: "only what comes with the keys of this label" },
    form: { value: "KEY", description: "only what comes from this form" },
    "rotate-secret": {
      description: `a new signing secret; the one before works ${overlapHours} hours longer`,
    },
    test: { description: "send an invented, marked event by the route and print what came back" },
    clear: { value: kinds.join("|"), description: "stop sending there, as none does" },
  },
  summary: "Set where a tenant's leads go, or show it",
  notes: `Webhooks are signed as the Standard Webhooks specification says. A new URL gets a new
secret; it is printed once. Without options the routes are shown, without the secrets; of an
address that is a secret itself, such as Slack's, only the host.
With --source or --form the change is for those events alone. For each event and each kind of
destination the closest route is taken, instead of the others: its form's, else its source's,
else the tenant's own. When a closer one ends, the next one takes its events.
Leads that wait for a route are sent at once. --test goes through the actions process, which
ACTIONS_URL and the client's certificate name, or the npm start that runs here; nothing is
stored, and it exits 1 when something failed. A sandbox tenant has no route.`,
  prepare(input) {
    const scope = parseScope(input);
    const isWhole = scope.source === "" && scope.form === "";
    const changes = parseChanges(input);
    const isTest = input.has("test");
    if (isTest && changes.length > 0) throw new WrongUsage("--test goes without a change");
    if (changes.length === 0 && !isWhole && !isTest) {
      throw new WrongUsage(`--${scope.form === "" ? "source" : "form"} goes with what is to be set`);
    }
    const tenant = input.first;
    return async (pool) => {
      const { id, sandbox } = await requireTenant(pool, tenant);
      if (sandbox) throw sandboxRefused(tenant);
      if (isTest) {
        return await testRoute(pool, surroundings, {
          tenant,
          scope,
          whose: isWhole ? "elsewhere" : scopeText(scope),
        });
      }
      const before = await readRoutes(pool, id);
      if (changes.length === 0) return routeReply(tenant, before);
      const has = (kind: string) =>
        before.some((one) => one.kind === kind && one.source === scope.source && one.form === scope.form);
      for (const [option, { kind, label }] of entries) {
        const isRotated = changes.some((change) =>
          change.kind === kind && change.rotate && !change.addresses
        );
        if (!isRotated || has(kind)) continue;
        const whose = isWhole ? tenant : `${tenant}'s ${scopeText(scope)}`;
        throw new Refused(`Tenant ${whose} has no ${label} route; --${option} makes one`);
      }
      const done = await changeRoute(pool, id, { scope, destinations: changes, overlapHours });
      if (done.kind === "sandbox") throw sandboxRefused(tenant);
      if (done.kind === "no_tenant") throw new Refused(`There is no tenant ${tenant} any more`);
      if (done.kind === "too_many") {
        throw new Refused(
          `Tenant ${tenant} would have more than ${routesMax} recipients; nothing was changed`,
        );
      }
      const secrets = changes.filter(({ kind }) => done.renewed.includes(kind));
      const notes = [
        ...(isWhole || await hasScope(pool, id, scope) ? [] : [
          `${tenant} has no ${
            scope.form === "" ? `key with the label ${safe(scope.source)}` : scopeText(scope)
          } yet; until it has, what comes goes by the tenant's own routes.`,
        ]),
        ...(isWhole || !changes.some(({ kind, clear }) => clear === true && has(kind)) ? [] : [
          `From now on the tenant's own routes take what comes from ${scopeText(scope)}.`,
        ]),
      ];
      return routeReply(tenant, await readRoutes(pool, id), {
        secrets: new Map(secrets.map(({ kind, secret = "" }) => [kind, secret])),
        notes,
      });
    };
  },
});

function sandboxRefused(tenant: string): Refused {
  return new Refused(
    `Tenant ${tenant} is a sandbox: its leads go nowhere, so it has no CRM route and no email route, nor any other`,
  );
}

function routeReply(
  tenant: string,
  routes: readonly StoredRoute[],
  { secrets = new Map(), notes = [] }: {
    readonly secrets?: ReadonlyMap<string, string>;
    readonly notes?: readonly string[];
  } = {},
): Reply {
  return {
    json: {
      tenant,
      ...routesJson(routes),
      ...Object.fromEntries([...secrets].map(([kind, secret]) => [`${kind}_secret`, secret])),
    },
    text: [
      routesText(tenant, routes),
      ...[...secrets.values()].flatMap((secret) => [
        `Signing secret: ${secret}`,
        "Store it now: it is not shown again.",
      ]),
    ].join("\n\n"),
    warning: notes.length === 0 ? undefined : notes.join("\n"),
  };
}

/** The command. */
export const routeCommands = (surroundings: Surroundings): readonly Command[] => [route(surroundings)];
