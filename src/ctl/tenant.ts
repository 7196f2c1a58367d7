/**
 * `ctl tenant …`
 *
 * @module
 */

import { listRouteKinds } from "#src/store/delivery/routes.ts";
import { addTenant, findTenant, listTenants, setRetention } from "#src/store/operator/tenants.ts";
import type { Pool } from "#src/store/pool.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { shortTime, table } from "./terminal.ts";
import { parseCount, parseLine, parseSlug } from "./values.ts";

/** The longest name of a tenant, in characters. */
export const nameLengthMax = 200;
const retentionDaysMax = 3_650;

const add: Command = {
  words: "tenant add",
  positionals: ["SLUG"],
  options: {
    name: { value: "TEXT", description: "the customer's name; the slug when left out" },
    sandbox: { description: "for tests: its keys start with lead_test_, nothing is delivered" },
  },
  summary: "Add a tenant, a customer that leads are for",
  prepare(input) {
    const slug = parseSlug(input.first);
    const name = parseLine(input.option("name") ?? slug, "--name", nameLengthMax);
    const sandbox = input.has("sandbox");
    return async (pool) => {
      if (!await addTenant(pool, { slug, name, sandbox })) {
        throw new Refused(`Tenant ${slug} exists already; ctl tenant list shows it`);
      }
      return {
        json: { tenant: slug, name, sandbox },
        text: `Added ${sandbox ? "sandbox tenant" : "tenant"} ${slug}.`,
      };
    };
  },
};

const list: Command = {
  words: "tenant list",
  positionals: [],
  options: {},
  summary: "List the tenants, where their leads go and what they have set",
  notes: `ROUTES are the kinds of destinations; ctl tenant route SLUG shows the addresses.`,
  prepare: () => async (pool) => {
    const kinds = await listRouteKinds(pool);
    const tenants = (await listTenants(pool)).map((tenant) => ({
      ...tenant,
      routes: kinds.get(tenant.id) ?? [],
    }));
    return {
      json: tenants.map((tenant) => ({
        tenant: tenant.slug,
        name: tenant.name,
        sandbox: tenant.sandbox,
        disabled_at: tenant.disabledAt,
        routes: tenant.routes,
        time_zone: tenant.timeZone,
        digest: tenant.digestAt,
        retention_days: tenant.retentionDays,
        created_at: tenant.createdAt,
      })),
      text: table(tenants, "No tenants yet; ctl tenant add SLUG adds one.", {
        "TENANT": (tenant) => tenant.slug,
        "NAME": (tenant) => tenant.name,
        "KIND": (tenant) => tenant.sandbox ? "sandbox" : "live",
        "STATE": (tenant) =>
          tenant.disabledAt === null ? "active" : `disabled ${shortTime(tenant.disabledAt)}`,
        "ROUTES": ({ routes, sandbox }) => routes.length > 0 ? routes.join(", ") : sandbox ? "-" : "none",
        "TIME ZONE": (tenant) => tenant.timeZone,
        "DIGEST": (tenant) => tenant.digestAt ?? "-",
        "KEPT": (tenant) => tenant.retentionDays === null ? "-" : days(tenant.retentionDays),
        "CREATED (UTC)": (tenant) => shortTime(tenant.createdAt),
      }),
    };
  },
};

const retention: Command = {
  words: "tenant retention",
  positionals: ["SLUG"],
  options: {
    days: { value: "N", description: `keep the content of its events N days, 1 to ${retentionDaysMax}` },
    clear: { description: "keep it for ever" },
  },
  summary: "Say how long a tenant's leads and submissions are kept",
  notes: `What is older loses its content in the background, some hundred events at a time: the
lead or submission, the body as posted, the Idempotency-Key's text, what was kept aside as a
collision, unknown terms that nobody has used since. What is pending, being sent or dead is never touched;
its content goes within the hour after it is delivered. A held submission that is too old can
no longer be released. The event's row stays for the counts: id, time, key, flags, cost; and a
late retry with its Idempotency-Key is still a duplicate.

With fewer days more is removed, from the oldest on. With more days, or with --clear, what is
removed does not come back.`,
  prepare(input) {
    const slug = input.first;
    const text = input.option("days");
    const isCleared = input.has("clear");
    if (isCleared && text !== undefined) throw new WrongUsage("--clear goes without --days");
    if (!isCleared && text === undefined) throw new WrongUsage("--days or --clear is missing");
    const kept = text === undefined ? null : parseCount(text, "--days", retentionDaysMax);
    return async (pool) => {
      if (!await setRetention(pool, slug, kept)) throw noSuchTenant(slug);
      return {
        json: { tenant: slug, retention_days: kept },
        text: `What ${slug} gets is kept ${kept === null ? "for ever" : days(kept)}.`,
      };
    };
  },
};

function days(count: number): string {
  return count === 1 ? "1 day" : `${count} days`;
}

/** The commands of this noun. */
export const tenantCommands: readonly Command[] = [add, list, retention];

/** For a slug that no tenant has. */
export function noSuchTenant(slug: string): Refused {
  return new Refused(`There is no tenant ${slug}; ctl tenant list shows those there are`);
}

/**
 * The tenant that an argument names.
 *
 * @throws {Refused} when there is none
 */
export async function requireTenant(
  pool: Pool,
  slug: string,
): Promise<{ readonly id: number; readonly sandbox: boolean; readonly isDisabled: boolean }> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) throw noSuchTenant(slug);
  return tenant;
}

/** The option `--tenant` of a command that lists. */
export const tenantOption = { tenant: { value: "SLUG", description: "only this tenant's" } } as const;

/** The id of the tenant that `--tenant` names, or `null` when it is not given. */
export async function optionalTenantId(pool: Pool, slug: string | undefined): Promise<number | null> {
  return slug === undefined ? null : (await requireTenant(pool, slug)).id;
}
