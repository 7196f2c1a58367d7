/** Defines `ctl tenant route`. */

import { randomBytes } from "node:crypto";
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
import { parseRecipeOptions, recipeJson, type RecipeOptions, recipeText, resolveRecipe } from "./recipe.ts";
import { dryRun, testRoute } from "./route_test_command.ts";
import { boundedText, record, safe } from "./terminal.ts";
import { parseChoice, parseLine } from "./values.ts";
import { shippedNames } from "#src/actions/crm/shipped.ts";
import { namedKinds, type RouteScope } from "#src/store/delivery/effects.ts";
import { readRouteStates } from "#src/store/operator/route_states.ts";
import {
  changeRoute,
  type DestinationChange,
  hasScope,
  readRoutes,
  routesMax,
  type StoredRoute,
} from "#src/store/delivery/routes.ts";

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
  return destinationsOf(routes, scope).map(({ label, kind, addresses, recipe }) => [
    label,
    recipe !== null
      ? recipeText(addresses[0] ?? "", recipe)
      : addresses.length === 0
      ? isTenantScope(scope) ? "-" : "inherited"
      : addresses.map((address) => displayAddress(kind, address)).join(", "),
  ]);
}

/** Converts all of a tenant's routes to JSON: the tenant's own under the options' names, narrower routes in `closer`. */
function routesJson(routes: readonly StoredRoute[]): Readonly<Record<string, unknown>> {
  const members = (scope: RouteScope) =>
    Object.fromEntries(
      destinationsOf(routes, scope).map(({ option, kind, addresses, isList, recipe }) => {
        if (recipe !== null) return [kind, recipeJson(addresses[0] ?? "", recipe)];
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
    return [{ ...destination, option, addresses: found?.addresses ?? [], recipe: found?.recipe ?? null }];
  });
}

const kinds = entries.map(([, { kind }]) => kind);

// Standard Webhooks requires 24 to 64 bytes.
const secretBytes = 32;
// Gives the receiver a day to switch to the new secret.
const overlapHours = 24;

function parseChanges(input: Input): DestinationChange[] {
  const cleared = input.option("clear");
  if (cleared !== undefined) parseChoice(cleared, "--clear", kinds);
  if (input.option("crm") !== undefined && (input.option("crm-url") !== undefined || cleared === "crm")) {
    throw new UsageError("--crm cannot be combined with --crm-url or --clear crm; a scope has one CRM route");
  }
  return entries.flatMap(([option, { kind, label, parse, isSigned }]): DestinationChange[] => {
    const text = option === "crm-url" && input.option("crm") === "none" ? "none" : input.option(option);
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
    crm: {
      value: "NAME|FILE.json|none",
      completions: shippedNames,
      description: "send each lead to a CRM, with a recipe (ctl crm list)",
    },
    set: {
      value: "NAME=VALUE",
      isRepeatable: true,
      description: "a setting of the recipe; an empty value removes it, or restores the default",
    },
    secret: {
      value: "NAME=FILE|NAME=-",
      isRepeatable: true,
      description: "a secret of the recipe, read from a file or standard input; NAME= removes it",
    },
    ...Object.fromEntries(
      entries.map(([option, { value, description }]) => [option, { value: `${value}|none`, description }]),
    ),
    source: { value: "LABEL", description: "only for leads posted with keys that have this label" },
    form: { value: "KEY", description: "only for submissions of this form" },
    "rotate-secret": {
      description: `create a new signing secret; the previous one works for ${overlapHours} more hours`,
    },
    test: { description: "send a marked test event over the route and print the responses" },
    "dry-run": { description: "with --test: send nothing, and print the requests" },
    event: {
      value: "EVENT_ID",
      description: "with --dry-run: for this event, over its own routes, or those of --source or --form",
    },
    clear: { value: kinds.join("|"), description: "remove this destination, as the value none does" },
  },
  summary: "Set or show where a tenant's leads are sent",
  notes: `Without options, the routes are shown without their secrets. If an address is itself a secret, such
as Slack's, only its host is shown.
A scope has one CRM route: a recipe or a webhook; setting one replaces the other. --set and --secret
alone change the settings of the route's recipe. --crm with the same recipe keeps them; a file keeps
them if its name, title, auth, hosts and default URLs are those of the route's recipe. The recipe is
checked first, and nothing is set if a check fails.
Webhooks are signed according to the Standard Webhooks specification. A new URL gets a new secret,
which is printed once.
With --source or --form, the change applies only to those events. For each event and each kind of
destination, only the most specific route is used: the form's, else the source's, else the tenant's
own. If you remove a more specific route, its events use the next most specific one.
Leads that wait for a route are sent immediately. --test goes through the actions process that
ACTIONS_URL and the client certificate select, or that of the running npm start. The event is
not stored, and the exit status is 1 if anything failed. A sandbox tenant has no routes.`,
  prepare(input) {
    const scope = parseScope(input);
    const isTenantWide = isTenantScope(scope);
    const recipe = parseRecipeOptions(input);
    const given = parseChanges(input);
    const hasChange = given.length > 0 || recipe !== null;
    const isTest = input.has("test");
    const isDryRun = input.has("dry-run");
    const eventId = input.option("event") ?? null;
    if (isTest && hasChange) throw new UsageError("--test cannot be combined with a change");
    if (isDryRun && !isTest) throw new UsageError("--dry-run needs --test");
    if (eventId !== null && !isDryRun) {
      throw new UsageError("--event needs --test --dry-run; ctl lead send-again sends a stored event again");
    }
    if (recipe !== null && given.some(({ kind }) => kind === "crm")) {
      throw new UsageError(
        "--crm, --set and --secret cannot be combined with --crm-url, --clear crm or --rotate-secret",
      );
    }
    if (!hasChange && !isTenantWide && !isTest) {
      throw new UsageError(
        `--${scope.form === "" ? "source" : "form"} requires an option that changes or tests the route`,
      );
    }
    const tenant = input.first;
    return async (pool) => {
      const { id, sandbox } = await requireTenant(pool, tenant);
      if (sandbox) throw sandboxRefused(tenant);
      if (isTest) {
        const test = { tenant, scope, scopeName: isTenantWide ? `tenant ${tenant}` : scopeText(scope) };
        return isDryRun ? await dryRun(pool, context, test, eventId) : await testRoute(pool, context, test);
      }
      const before = await readRoutes(pool, id);
      if (!hasChange) return routeReply(tenant, before);
      const { changes: recipeChanges, keptSecrets } = await resolveChange(recipe, before, scope);
      const changes = [...given, ...recipeChanges];
      const isInScope = ({ source, form }: RouteScope) => source === scope.source && form === scope.form;
      const hasRoute = (kind: string) => before.some((one) => one.kind === kind && isInScope(one));
      for (const [option, { kind, label }] of entries) {
        const isOnlyRotated = changes.some((change) =>
          change.kind === kind && change.rotate && !change.addresses
        );
        if (
          isOnlyRotated && before.some((one) => isInScope(one) && one.kind === kind && one.recipe !== null)
        ) {
          throw new Refused(
            "A CRM recipe has no signing secret; --secret NAME=FILE changes the recipe's own secrets",
          );
        }
        if (!isOnlyRotated || hasRoute(kind)) continue;
        const owner = isTenantWide ? tenant : `${tenant}'s ${scopeText(scope)}`;
        throw new Refused(`Tenant ${owner} has no ${label} route; --${option} adds one`);
      }
      const isCrmRemoved = changes.some(({ kind, clear }) => kind === "crm" && clear === true);
      const states = isCrmRemoved ? await readRouteStates(pool, id) : [];
      const waiting = states.find((one) => one.kind === "crm" && isInScope(one))?.suspension?.waiting;
      const outcome = await changeRoute(pool, id, { scope, destinations: changes, overlapHours });
      if (outcome.kind === "sandbox") throw sandboxRefused(tenant);
      if (outcome.kind === "no_tenant") throw new Refused(`Tenant ${tenant} no longer exists`);
      if (outcome.kind === "too_many") {
        throw new Refused(
          `Tenant ${tenant} would have more than ${routesMax} recipients; nothing was changed`,
        );
      }
      if (outcome.kind === "outdated") {
        throw new Refused(
          `The CRM recipe of ${tenant} was changed by another operator meanwhile; run the command again`,
        );
      }
      const notes = [
        ...(waiting === undefined || waiting.count === 0 ? [] : [
          `${boundedText(waiting, "lead")} waited for this CRM and will not reach it.`,
        ]),
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
        keptSecrets,
        notes,
      });
    };
  },
});

/** Returns the change that the options for a recipe make, and the names of the secrets that it keeps. */
async function resolveChange(
  options: RecipeOptions | null,
  routes: readonly StoredRoute[],
  { source, form }: RouteScope,
): Promise<{ readonly changes: readonly DestinationChange[]; readonly keptSecrets: readonly string[] }> {
  if (options === null) return { changes: [], keptSecrets: [] };
  const before = routes.find((one) => one.kind === "crm" && one.source === source && one.form === form);
  const { name, recipe, keptSecrets } = await resolveRecipe(options, before);
  return { changes: [{ kind: "crm", addresses: [name], recipe }], keptSecrets };
}

function sandboxRefused(tenant: string): Refused {
  return new Refused(
    `Tenant ${tenant} is a sandbox: its leads are not sent anywhere, so it has no routes`,
  );
}

function routeReply(
  tenant: string,
  routes: readonly StoredRoute[],
  { secrets = new Map(), keptSecrets = [], notes = [] }: {
    readonly secrets?: ReadonlyMap<string, string>;
    readonly keptSecrets?: readonly string[];
    readonly notes?: readonly string[];
  } = {},
): Reply {
  return {
    json: {
      tenant,
      ...routesJson(routes),
      ...Object.fromEntries([...secrets].map(([kind, secret]) => [`${kind}_secret`, secret])),
      ...(keptSecrets.length === 0 ? {} : { kept_secrets: keptSecrets }),
    },
    text: [
      routesText(tenant, routes),
      ...[...secrets.values()].flatMap((secret) => [
        `Signing secret: ${secret}`,
        "Store it now; it will not be shown again.",
      ]),
      ...(keptSecrets.length === 0
        ? []
        : [`Kept from before: ${keptSecrets.join(", ")}. --secret NAME=FILE changes a secret.`]),
    ].join("\n\n"),
    warning: notes.length === 0 ? undefined : notes.join("\n"),
  };
}

export const routeCommands = (context: CommandContext): readonly Command[] => [route(context)];
