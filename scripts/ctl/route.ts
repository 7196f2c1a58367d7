/**
 * `ctl tenant route`
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { namedKinds } from "#src/store/delivery/effects.ts";
import {
  changeRoute,
  type DestinationChange,
  readRoute,
  type RouteAddresses,
} from "#src/store/delivery/routes.ts";
import { type Command, type Input, type OptionRule, Refused, type Reply, WrongUsage } from "./command.ts";
import { requireTenant } from "./tenant.ts";
import { record } from "./terminal.ts";

/** A destination as the operator sees it, under the option that sets its address; `none` takes the address away. */
interface DestinationOption extends OptionRule {
  readonly kind: string;
  /** Its name for people. */
  readonly label: string;
  /** Checks an address and returns it as it is stored. */
  readonly parse: (text: string, option: string) => string;
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
    value: "ADDRESS",
    description: "mail each lead to this address",
    parse: parseEmail,
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
const kinds = entries.map(([, { kind }]) => kind);

const urlLengthMax = 2_000;
// Standard Webhooks asks for 24 to 64 bytes.
const secretBytes = 32;
// A receiver has a day to change over.
const overlapHours = 24;

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
    return url.href;
  };
}

/** One plain address. Chosen: ASCII, because every mail server takes that; a domain may be given in punycode. */
function parseEmail(text: string, option: string): string {
  const address = text.trim();
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const atom = "[!#$%&'*+/=?^_`{|}~A-Za-z0-9-]+";
  const shape = new RegExp(`^(?=[^@]{1,64}@.{1,253}$)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`);
  if (!shape.test(address)) {
    throw new WrongUsage(`--${option} must be one address, such as leads@example.com`);
  }
  return address;
}

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
      ...(text === undefined ? {} : { address: parse(text, option) }),
      ...(rotate ? { rotate } : {}),
      ...(isSigned === true ? { secret: `whsec_${randomBytes(secretBytes).toString("base64")}` } : {}),
    }];
  });
}

const route: Command = {
  words: "tenant route",
  positionals: ["SLUG"],
  options: {
    ...Object.fromEntries(
      entries.map(([option, { value, description }]) => [option, { value: `${value}|none`, description }]),
    ),
    "rotate-secret": {
      description: `a new signing secret; the one before works ${overlapHours} hours longer`,
    },
    clear: { value: kinds.join("|"), description: "stop sending there, as none does" },
  },
  summary: "Set where a tenant's leads go, or show it",
  notes: `Webhooks are signed as the Standard Webhooks specification says. A new URL gets a new
secret; it is printed once. Without options the route is shown, without the secret; of an
address that is a secret itself, such as Slack's, only the host.
Leads that wait for a route are sent at once. A sandbox tenant has no route.`,
  prepare(input) {
    const changes = parseChanges(input);
    const tenant = input.first;
    return async (pool) => {
      const { id, sandbox } = await requireTenant(pool, tenant);
      if (sandbox) throw sandboxRefused(tenant);
      const before = await readRoute(pool, id);
      if (changes.length === 0) return routeReply(tenant, before, new Map());
      for (const [option, { kind, label }] of entries) {
        const isRotated = changes.some((change) => change.kind === kind && change.rotate && !change.address);
        if (!isRotated || before.has(kind)) continue;
        throw new Refused(`Tenant ${tenant} has no ${label} route; --${option} makes one`);
      }
      const done = await changeRoute(pool, id, { destinations: changes, overlapHours });
      if (done.kind === "sandbox") throw sandboxRefused(tenant);
      if (done.kind === "no_tenant") throw new Refused(`There is no tenant ${tenant} any more`);
      const secrets = changes.filter(({ kind }) => done.renewed.includes(kind));
      return routeReply(
        tenant,
        await readRoute(pool, id),
        new Map(secrets.map(({ kind, secret = "" }) => [kind, secret])),
      );
    };
  },
};

function sandboxRefused(tenant: string): Refused {
  return new Refused(
    `Tenant ${tenant} is a sandbox: its leads go nowhere, so it has no CRM route and no email route, nor any other`,
  );
}

function routeReply(tenant: string, route: RouteAddresses, secrets: ReadonlyMap<string, string>): Reply {
  const always: readonly string[] = namedKinds;
  const rows = entries.flatMap(([option, { kind, label, isSecret }]) => {
    const address = route.get(kind);
    if (address === undefined && !always.includes(kind)) return [];
    const shown = isSecret === true && address !== undefined ? `${new URL(address).origin}/…` : address;
    return [{ option, label, address: shown ?? null }];
  });
  const paragraphs = [
    route.size === 0
      ? `Tenant ${tenant} has no route; its leads wait.`
      : record([["Tenant", tenant], ...rows.map(({ label, address }) => [label, address ?? "-"] as const)]),
  ];
  for (const secret of secrets.values()) {
    paragraphs.push(`Signing secret: ${secret}`, "Store it now: it is not shown again.");
  }
  return {
    json: {
      tenant,
      ...Object.fromEntries(rows.map(({ option, address }) => [option.replaceAll("-", "_"), address])),
      ...Object.fromEntries([...secrets].map(([kind, secret]) => [`${kind}_secret`, secret])),
    },
    text: paragraphs.join("\n\n"),
  };
}

/** The command. */
export const routeCommands: readonly Command[] = [route];
