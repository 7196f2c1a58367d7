/**
 * `ctl tenant route`
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { RouteScope } from "#src/store/delivery/effects.ts";
import {
  changeRoute,
  type DestinationChange,
  hasScope,
  readRoutes,
  routesMax,
  type StoredRoute,
} from "#src/store/delivery/routes.ts";
import { type Command, type Input, Refused, type Reply, type Surroundings, WrongUsage } from "./command.ts";
import { destinations, routesJson, routesText, scopeText } from "./destinations.ts";
import { testRoute } from "./route_test.ts";
import { requireTenant } from "./tenant.ts";
import { safe } from "./terminal.ts";
import { parseLine } from "./values.ts";

const entries = Object.entries(destinations);
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
