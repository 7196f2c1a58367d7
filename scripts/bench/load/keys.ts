/**
 * Tenants, and the API keys that leads are posted with.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import type postgres from "postgres";
import { makeKey } from "../../../src/contract/api_key.ts";

/** Tenants, each with two keys. */
export const tenantCount = 8;
/**
 * API keys, each bound to a campaign of its own: enough that a row of spend is not what all wait for. Their ids
 * are 1 to this, the tenant of key k is (k - 1) mod {@linkcode tenantCount} + 1.
 */
export const keyCount = 16;

/** An API key that works in every database. */
export function makeApiKey(surface: "intake" | "forms"): { key: string; digest: string } {
  const key = makeKey({ surface, sandbox: false }, (bytes) => getRandomValues(bytes));
  return { key, digest: createHash("sha256").update(key).digest("hex") };
}

/** The tenants and keys of a database that has none. */
export async function seed(sql: postgres.Sql, digests: readonly string[]): Promise<void> {
  // Nothing is delivered for a tenant without a route.
  await sql`
    insert into tenant (slug, name, has_route)
    select 'tenant-' || n, 'Tenant ' || n, true from generate_series(1, ${tenantCount}::int) as n order by n`;
  await sql`
    insert into campaign (tenant_id, slug)
    select (n - 1) % ${tenantCount}::int + 1, 'campaign-' || n from generate_series(1, ${keyCount}::int) as n order by n`;
  await sql`
    insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
    select c.tenant_id, c.id, 'intake', 'provider-' || n, decode(digest, 'hex'), '0000'
    from unnest(${digests}::text[]) with ordinality as d (digest, n)
    join campaign as c on c.slug = 'campaign-' || n order by n`;
  await sql`vacuum analyze`;
}

/** Adds tenants with a route, a campaign and an intake key each; the keys. */
export async function addKeys(sql: postgres.Sql, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => makeApiKey("intake"));
  await sql`
    with given as (
      select digest, 'more-' || n as slug from unnest(${keys.map(({ digest }) => digest)}::text[])
        with ordinality as d (digest, n)
    ), t as (
      insert into tenant (slug, name, has_route) select slug, slug, true from given returning id, slug
    ), c as (
      insert into campaign (tenant_id, slug) select id, slug from t returning id, tenant_id, slug
    )
    insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
    select c.tenant_id, c.id, 'intake', slug, decode(digest, 'hex'), '0000' from given join c using (slug)`;
  return keys.map(({ key }) => key);
}
