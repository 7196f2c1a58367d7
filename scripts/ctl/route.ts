/**
 * `ctl tenant route`
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { changeRoute, readRoute, type Route, type RouteChange } from "#src/store/delivery/routes.ts";
import { type Command, type Input, Refused, type Reply, WrongUsage } from "./command.ts";
import { requireTenant } from "./tenant.ts";
import { record } from "./terminal.ts";

const urlLengthMax = 2_000;
// Standard Webhooks asks for 24 to 64 bytes.
const secretBytes = 32;
// A receiver has a day to change over.
const overlapHours = 24;

/** An address for webhooks, as it is stored: the one spelling that the URL parser makes of it. */
function parseCrmUrl(text: string): string {
  // The text is not repeated: it may hold a password or a token.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== "https:" || url.hostname === "") {
    throw new WrongUsage("--crm-url must be an https address, such as https://crm.example.com/leads");
  }
  if (url.username !== "" || url.password !== "") {
    throw new WrongUsage("--crm-url must not hold a user or password; the requests are signed instead");
  }
  if (url.hash !== "") throw new WrongUsage("--crm-url must not have a fragment (#…)");
  if (url.href.length > urlLengthMax) {
    throw new WrongUsage(`--crm-url is longer than ${urlLengthMax} characters`);
  }
  return url.href;
}

/** One plain address. Chosen: ASCII, because every mail server takes that; a domain may be given in punycode. */
function parseEmail(text: string): string {
  const address = text.trim();
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const atom = "[!#$%&'*+/=?^_`{|}~A-Za-z0-9-]+";
  const shape = new RegExp(`^(?=[^@]{1,64}@.{1,253}$)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`);
  if (!shape.test(address)) {
    throw new WrongUsage("--email must be one address, such as leads@example.com");
  }
  return address;
}

type Change = Omit<RouteChange, "secret" | "overlapHours">;

function parseChange(input: Input): Change {
  const crmUrl = input.option("crm-url");
  const email = input.option("email");
  const clear = input.option("clear");
  const rotateSecret = input.has("rotate-secret");
  if (clear !== undefined && clear !== "crm" && clear !== "email") {
    throw new WrongUsage(`--clear must be crm or email: ${clear}`);
  }
  if (clear === "crm" && crmUrl !== undefined) throw new WrongUsage("--clear crm goes without --crm-url");
  if (clear === "crm" && rotateSecret) throw new WrongUsage("--clear crm goes without --rotate-secret");
  if (clear === "email" && email !== undefined) throw new WrongUsage("--clear email goes without --email");
  return {
    ...(crmUrl === undefined ? {} : { crmUrl: parseCrmUrl(crmUrl) }),
    ...(email === undefined ? {} : { email: parseEmail(email) }),
    ...(clear === undefined ? {} : { clear }),
    ...(rotateSecret ? { rotateSecret } : {}),
  };
}

const route: Command = {
  words: "tenant route",
  positionals: ["SLUG"],
  options: {
    "crm-url": {
      value: "URL",
      description: "post each lead to this https address, signed; prints the secret",
    },
    email: { value: "ADDRESS", description: "mail each lead to this address" },
    "rotate-secret": {
      description: `a new signing secret; the one before works ${overlapHours} hours longer`,
    },
    clear: { value: "crm|email", description: "stop sending there" },
  },
  summary: "Set where a tenant's leads go, or show it",
  notes: `Webhooks are signed as the Standard Webhooks specification says. A new URL gets a new
secret; it is printed once. Without options the route is shown, without the secret.
Leads that wait for a route are sent at once. A sandbox tenant has no route.`,
  prepare(input) {
    const change = parseChange(input);
    const tenant = input.first;
    return async (pool) => {
      const { id, sandbox } = await requireTenant(pool, tenant);
      if (sandbox) throw sandboxRefused(tenant);
      if (Object.keys(change).length === 0) return routeReply(tenant, await readRoute(pool, id), null);
      if (change.rotateSecret === true && change.crmUrl === undefined) {
        const { crmUrl } = await readRoute(pool, id);
        if (crmUrl === null) throw new Refused(`Tenant ${tenant} has no CRM route; --crm-url makes one`);
      }
      const secret = `whsec_${randomBytes(secretBytes).toString("base64")}`;
      const done = await changeRoute(pool, id, { ...change, secret, overlapHours });
      if (done.kind === "sandbox") throw sandboxRefused(tenant);
      if (done.kind === "no_tenant") throw new Refused(`There is no tenant ${tenant} any more`);
      return routeReply(tenant, done.route, done.hasNewSecret ? secret : null);
    };
  },
};

function sandboxRefused(tenant: string): Refused {
  return new Refused(
    `Tenant ${tenant} is a sandbox: its leads go nowhere, so it has no CRM route and no email route`,
  );
}

function routeReply(tenant: string, { crmUrl, email }: Route, secret: string | null): Reply {
  const isEmpty = crmUrl === null && email === null;
  const paragraphs = [
    isEmpty ? `Tenant ${tenant} has no route; its leads wait.` : record([
      ["Tenant", tenant],
      ["CRM", crmUrl ?? "-"],
      ["Email", email ?? "-"],
    ]),
  ];
  if (secret !== null) {
    paragraphs.push(`Signing secret: ${secret}`, "Store it now: it is not shown again.");
  }
  return {
    json: { tenant, crm_url: crmUrl, email, ...(secret === null ? {} : { crm_secret: secret }) },
    text: paragraphs.join("\n\n"),
  };
}

/** The command. */
export const routeCommands: readonly Command[] = [route];
