/**
 * `ctl tenant …`
 *
 * @module
 */

import { addTenant, findTenant, listTenants } from "#src/store/admin/tenants.ts";
import type { Pool } from "#src/store/sql.ts";
import { type Command, Refused } from "./command.ts";
import { shortTime, table } from "./terminal.ts";
import { parseLine, parseSlug } from "./values.ts";

const nameLengthMax = 200;

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
  summary: "List the tenants",
  prepare: () => async (pool) => {
    const tenants = await listTenants(pool);
    return {
      json: tenants.map(({ slug, name, sandbox, createdAt }) => ({
        tenant: slug,
        name,
        sandbox,
        created_at: createdAt,
      })),
      text: table(
        ["TENANT", "NAME", "KIND", "CREATED (UTC)"],
        tenants.map((tenant) => [
          tenant.slug,
          tenant.name,
          tenant.sandbox ? "sandbox" : "live",
          shortTime(tenant.createdAt),
        ]),
        "No tenants yet; ctl tenant add SLUG adds one.",
      ),
    };
  },
};

/** The commands of this noun. */
export const tenantCommands: readonly Command[] = [add, list];

/**
 * The tenant that an argument names.
 *
 * @throws {Refused} when there is none
 */
export async function requireTenant(
  pool: Pool,
  slug: string,
): Promise<{ readonly id: number; readonly sandbox: boolean }> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) {
    throw new Refused(`There is no tenant ${slug}; ctl tenant list shows those there are`);
  }
  return tenant;
}

/** The id of the tenant that `--tenant` names, or `null` when it is not given. */
export async function optionalTenantId(pool: Pool, slug: string | undefined): Promise<number | null> {
  return slug === undefined ? null : (await requireTenant(pool, slug)).id;
}
