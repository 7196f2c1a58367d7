/** Defines `ctl tenant route`. */

import { randomBytes } from "node:crypto";
import { requestActions } from "./actions_request.ts";
import {
  type Command,
  type CommandContext,
  type Input,
  type OptionRule,
  Refused,
  type Reply,
  UsageError,
} from "./command.ts";
import { labelLengthMax } from "./key.ts";
import { requireTenant } from "./list.ts";
import { record, safe, table } from "./terminal.ts";
import { parseChoice, parseLine } from "./values.ts";
import type { Environment } from "#src/settings/reader.ts";
import { namedKinds, type RouteScope } from "#src/store/delivery/effects.ts";
import {
  auditRouteTest,
  changeRoute,
  type DestinationChange,
  hasScope,
  readRoutes,
  routesMax,
  type StoredRoute,
} from "#src/store/delivery/routes.ts";
import { effectName } from "#src/store/operator/event_effects.ts";
import type { Pool } from "#src/store/pool.ts";

/** A kind of destination, and the option that sets its addresses; the value `none` removes them. */
interface DestinationOption extends OptionRule {
  readonly kind: string;
  /** The display name. */
  readonly label: string;
  /** Parses the option's value and returns the addresses to store. */
  readonly parse: (text: string, option: string) => readonly string[];
  /** Whether the destination has a list of addresses. */
  readonly isList?: true;
  /** Whether the address itself grants access, so that only its host is shown. */
  readonly isSecret?: true;
  /** Whether requests are signed with a secret, which is shown once. */
  readonly isSigned?: true;
}

/** Every kind of destination, in display order. The code that sends to them is in src/actions/. */
const destinations: Readonly<Record<string, DestinationOption>> = {
  "crm-url": {
    kind: "crm",
    label: "CRM",
    value: "URL",
    description: "post each lead to this https URL, signed; prints the secret",
    parse: httpsUrl("https://crm.example.com/leads"),
    isSigned: true,
  },
  email: {
    kind: "email",
    label: "Email",
    value: "A[,B…]",
    description: "email each lead to each of these addresses",
    parse: parseEmails,
    isList: true,
  },
  "slack-url": {
    kind: "slack",
    label: "Slack",
    value: "URL",
    description: "post each lead to a Slack channel, through its incoming webhook",
    parse: httpsUrl("https://hooks.slack.com/services/…"),
    isSecret: true,
  },
};

const entries = Object.entries(destinations);

const urlLengthMax = 2_000;
// Chosen: 10, more people than need to see one lead; for more, use a mailing list.
const recipientsMax = 10;

/** Returns a function that parses an https URL and normalizes its spelling. */
function httpsUrl(example: string): DestinationOption["parse"] {
  return (text, option) => {
    // The message does not echo the text, which could contain a password or token.
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null || url.protocol !== "https:" || url.hostname === "") {
      throw new UsageError(`--${option} must be an https URL, such as ${example}`);
    }
    if (url.username !== "" || url.password !== "") {
      throw new UsageError(`--${option} must not contain a user name or password; they would not be sent`);
    }
    if (url.hash !== "") throw new UsageError(`--${option} must not have a fragment (#…)`);
    if (url.href.length > urlLengthMax) {
      throw new UsageError(`--${option} is longer than ${urlLengthMax} characters`);
    }
    return [url.href];
  };
}

/** Parses email addresses. Chosen: ASCII only, because every mail server accepts it; domains can be in Punycode. */
function parseEmails(text: string, option: string): readonly string[] {
  const addresses = [...new Set(text.split(",").map((part) => part.trim()))];
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const atom = "[!#$%&'*+/=?^_`{|}~A-Za-z0-9-]+";
  const shape = new RegExp(`^(?=[^@]{1,64}@.{1,253}$)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`);
  if (!addresses.every((address) => shape.test(address))) {
    throw new UsageError(`--${option} must be comma-separated addresses, such as leads@example.com`);
  }
  if (addresses.length > recipientsMax) {
    throw new UsageError(`--${option} accepts at most ${recipientsMax} addresses`);
  }
  return addresses;
}

/** Returns an address for display; only its host if the address is secret. */
function displayAddress(kind: string, address: string): string {
  const isSecret = entries.some(([, destination]) => destination.kind === kind && destination.isSecret);
  return isSecret ? `${new URL(address).origin}/…` : address;
}

const tenantScope: RouteScope = { source: "", form: "" };

function isTenantScope({ source, form }: RouteScope): boolean {
  return source === "" && form === "";
}

/** Returns the sources and forms that have their own routes. */
function narrowerScopes(routes: readonly StoredRoute[]): RouteScope[] {
  const scopes = new Map(routes.map(({ source, form }) => [`${source}\n${form}`, { source, form }]));
  return [...scopes.values()].filter((scope) => !isTenantScope(scope));
}

/** Formats a scope, escaped for the terminal: `source partner-x`. */
function scopeText({ source, form }: RouteScope): string {
  return form !== "" ? `form ${form}` : `source ${safe(source)}`;
}

/** Formats all of a tenant's routes. */
function routesText(tenant: string, routes: readonly StoredRoute[]): string {
  if (routes.length === 0) return `Tenant ${tenant} has no route; its leads wait.`;
  return [
    routes.some(isTenantScope)
      ? record([["Tenant", tenant], ...pairs(routes, tenantScope)])
      : `Tenant ${tenant} has only the routes below; leads from other sources and forms wait.`,
    ...narrowerScopes(routes).map((scope) =>
      record([[scope.form !== "" ? "Form" : "Source", scope.form || scope.source], ...pairs(routes, scope)])
    ),
  ].join("\n\n");
}

function pairs(routes: readonly StoredRoute[], scope: RouteScope): [string, string][] {
  return destinationsOf(routes, scope).map(({ label, kind, addresses }) => [
    label,
    addresses.length === 0
      ? isTenantScope(scope) ? "-" : "inherited"
      : addresses.map((address) => displayAddress(kind, address)).join(", "),
  ]);
}

/** Converts all of a tenant's routes to JSON: the tenant's own under the options' names, narrower routes in `closer`. */
function routesJson(routes: readonly StoredRoute[]): Readonly<Record<string, unknown>> {
  const members = (scope: RouteScope) =>
    Object.fromEntries(
      destinationsOf(routes, scope).map(({ option, kind, addresses, isList }) => {
        const shown = addresses.map((address) => displayAddress(kind, address));
        return [option.replaceAll("-", "_"), isList === true ? shown : shown[0] ?? null];
      }),
    );
  return {
    ...members(tenantScope),
    closer: narrowerScopes(routes).map((scope) => ({
      ...(scope.form !== "" ? { form: scope.form } : { source: scope.source }),
      ...members(scope),
    })),
  };
}

/** Returns a scope's destinations; the kinds in `namedKinds` are included even without an address. */
function destinationsOf(routes: readonly StoredRoute[], scope: RouteScope) {
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
 * Returns the settings with which the service reaches the actions process: from the environment, or else from the
 * `npm start` running on this machine.
 *
 * @throws {Refused} if neither has them
 */
function findActionsSettings({ environment, developmentSettings }: CommandContext): Environment {
  const found = [environment, developmentSettings()].find((from) => from?.ACTIONS_URL?.trim());
  if (found) return found;
  throw new Refused(
    "ACTIONS_URL is not set, and no npm start with an actions process is running here. Set it, ACTIONS_CA_FILE, " +
      "ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE to the service's values",
  );
}

/** The result for one recipient. */
interface TestResult {
  readonly effect: string;
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
  readonly duration_ms: number;
}

/** The response of the actions process to a test. */
interface TestResponse {
  readonly event_id?: string;
  readonly results?: readonly TestResult[];
  readonly error?: unknown;
}

// Greater than the maximum effect timeout, which the actions process enforces.
const timeoutMs = 130_000;

/** @throws {Refused} if there is no response, or it is not JSON */
async function postTest(
  settings: Environment,
  body: unknown,
): Promise<{ readonly status: number; readonly json: TestResponse | null }> {
  try {
    const { status, text } = await requestActions(settings, { path: "/v1/tests", body, timeoutMs });
    return { status, json: JSON.parse(text) };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Refused(
      `The actions process at ${settings.ACTIONS_URL} does not respond (${
        code ?? message
      }); ctl doctor shows the cause`,
      { cause: error },
    );
  }
}

/**
 * Makes the actions process send a test event over a scope's routes, and audits the test.
 *
 * @throws {Refused} if no test was sent, or its results are unknown
 */
async function testRoute(
  pool: Pool,
  context: CommandContext,
  { tenant, scope, scopeName }: {
    readonly tenant: string;
    readonly scope: RouteScope;
    /** The scope in an error message. */
    readonly scopeName: string;
  },
): Promise<Reply> {
  const settings = findActionsSettings(context);
  const { status, json } = await postTest(settings, { tenant, ...scope });
  if (json?.error === "no_route") {
    throw new Refused(`Nothing to test: no route applies to ${scopeName}`);
  }
  if (status !== 200 || json?.results === undefined) {
    throw new Refused(
      `The actions process responded with ${status}${
        typeof json?.error === "string" ? ` ${safe(json.error)}` : ""
      }; nothing was sent. Check that it runs this version and uses this database`,
    );
  }
  const { results } = json;
  const failures = results.filter(({ outcome }) => outcome === "failed");
  await auditRouteTest(pool, tenant, { scope, sent: results.length, failed: failures.length });
  return {
    json: { tenant, ...json },
    hasFailures: failures.length > 0,
    text: [
      table(results, "", {
        "DESTINATION": ({ effect, target }) => `${effectName(effect)} ${target}`,
        "OUTCOME": ({ outcome, reason }) => reason === null ? outcome : `${outcome}: ${reason}`,
        ">STATUS": ({ status }) => status === null ? "-" : String(status),
        ">TIME": ({ duration_ms: durationMs }) => `${durationMs} ms`,
        "RESPONSE": ({ answer }) => answer ?? "",
      }),
      `Sent as event ${json.event_id}, which is not stored.`,
    ].join("\n\n"),
  };
}

const kinds = entries.map(([, { kind }]) => kind);

// Standard Webhooks requires 24 to 64 bytes.
const secretBytes = 32;
// Gives the receiver a day to switch to the new secret.
const overlapHours = 24;

function parseChanges(input: Input): DestinationChange[] {
  const cleared = input.option("clear");
  if (cleared !== undefined) parseChoice(cleared, "--clear", kinds);
  return entries.flatMap(([option, { kind, label, parse, isSigned }]): DestinationChange[] => {
    const text = input.option(option);
    const rotate = isSigned === true && input.has("rotate-secret");
    if (cleared === kind && text !== undefined) {
      throw new UsageError(`--clear ${kind} cannot be combined with --${option}`);
    }
    if (cleared === kind || text === "none") {
      if (rotate) {
        throw new UsageError(
          `--rotate-secret cannot be combined with an option that stops sending to ${label}`,
        );
      }
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
  if (sourceText !== undefined && form !== undefined) {
    throw new UsageError("--source cannot be combined with --form");
  }
  const source = sourceText === undefined ? "" : parseLine(sourceText, "--source", labelLengthMax);
  if (form !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(form)) {
    throw new UsageError("--form must be the key of a form, such as contact");
  }
  return { source, form: form ?? "" };
}

const route = (context: CommandContext): Command => ({
  words: "tenant route",
  positionals: ["SLUG"],
  options: {
    ...Object.fromEntries(
      entries.map(([option, { value, description }]) => [option, { value: `${value}|none`, description }]),
    ),
    source: { value: "LABEL", description: "only for leads posted with keys that have this label" },
    form: { value: "KEY", description: "only for submissions of this form" },
    "rotate-secret": {
      description: `create a new signing secret; the previous one works for ${overlapHours} more hours`,
    },
    test: { description: "send a marked test event over the route and print the responses" },
    clear: { value: kinds.join("|"), description: "remove this destination, as the value none does" },
  },
  summary: "Set or show where a tenant's leads are sent",
  notes: `Webhooks are signed according to the Standard Webhooks specification. A new URL gets a new
secret, which is printed once. Without options, the routes are shown without their secrets. If the
address is itself a secret, such as Slack's, only the host is shown.
With --source or --form, the change applies only to those events. For each event and each kind of
destination, only the most specific route is used: the form's, else the source's, else the tenant's
own. If you remove a more specific route, its events use the next most specific one.
Leads that wait for a route are sent immediately. --test goes through the actions process that
ACTIONS_URL and the client certificate select, or that of the running npm start. The event is
not stored, and the exit status is 1 if anything failed. A sandbox tenant has no routes.`,
  prepare(input) {
    const scope = parseScope(input);
    const isTenantWide = isTenantScope(scope);
    const changes = parseChanges(input);
    const isTest = input.has("test");
    if (isTest && changes.length > 0) throw new UsageError("--test cannot be combined with a change");
    if (changes.length === 0 && !isTenantWide && !isTest) {
      throw new UsageError(
        `--${scope.form === "" ? "source" : "form"} requires an option that changes or tests the route`,
      );
    }
    const tenant = input.first;
    return async (pool) => {
      const { id, sandbox } = await requireTenant(pool, tenant);
      if (sandbox) throw sandboxRefused(tenant);
      if (isTest) {
        return await testRoute(pool, context, {
          tenant,
          scope,
          scopeName: isTenantWide ? `tenant ${tenant}` : scopeText(scope),
        });
      }
      const before = await readRoutes(pool, id);
      if (changes.length === 0) return routeReply(tenant, before);
      const hasRoute = (kind: string) =>
        before.some((one) => one.kind === kind && one.source === scope.source && one.form === scope.form);
      for (const [option, { kind, label }] of entries) {
        const isOnlyRotated = changes.some((change) =>
          change.kind === kind && change.rotate && !change.addresses
        );
        if (!isOnlyRotated || hasRoute(kind)) continue;
        const owner = isTenantWide ? tenant : `${tenant}'s ${scopeText(scope)}`;
        throw new Refused(`Tenant ${owner} has no ${label} route; --${option} adds one`);
      }
      const outcome = await changeRoute(pool, id, { scope, destinations: changes, overlapHours });
      if (outcome.kind === "sandbox") throw sandboxRefused(tenant);
      if (outcome.kind === "no_tenant") throw new Refused(`Tenant ${tenant} no longer exists`);
      if (outcome.kind === "too_many") {
        throw new Refused(
          `Tenant ${tenant} would have more than ${routesMax} recipients; nothing was changed`,
        );
      }
      const notes = [
        ...(isTenantWide || await hasScope(pool, id, scope) ? [] : [
          `${tenant} has no ${
            scope.form === "" ? `key with the label ${safe(scope.source)}` : scopeText(scope)
          }; check the spelling, or add one.`,
        ]),
        ...(isTenantWide || !changes.some(({ kind, clear }) => clear === true && hasRoute(kind)) ? [] : [
          `Events from ${scopeText(scope)} now use the next most specific route.`,
        ]),
      ];
      return routeReply(tenant, await readRoutes(pool, id), {
        secrets: new Map(
          outcome.renewed.map((kind) => [kind, changes.find((one) => one.kind === kind)?.secret ?? ""]),
        ),
        notes,
      });
    };
  },
});

function sandboxRefused(tenant: string): Refused {
  return new Refused(
    `Tenant ${tenant} is a sandbox: its leads are not sent anywhere, so it has no routes`,
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
        "Store it now; it will not be shown again.",
      ]),
    ].join("\n\n"),
    warning: notes.length === 0 ? undefined : notes.join("\n"),
  };
}

export const routeCommands = (context: CommandContext): readonly Command[] => [route(context)];
