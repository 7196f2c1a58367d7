/**
 * Campaigns and what they have spent, as the operator sees them.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";

/** A campaign. */
interface Campaign {
  readonly slug: string;
  readonly tenant: string;
  readonly spendCents: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Adds a campaign to a tenant, and notes it; `false` when the tenant has one of that slug. */
export async function addCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<boolean> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql`
      with added as (
        insert into campaign (tenant_id, slug) values (${campaign.tenantId}, ${campaign.slug})
        on conflict (tenant_id, slug) do nothing
        returning tenant_id, slug
      )
      select note_audit('campaign.add', a.slug, json_build_object('tenant', t.slug))
      from added as a join tenant as t on t.id = a.tenant_id`);
  return rows.length === 1;
}

/** The campaigns of one tenant or, with `null`, of all, by tenant and slug. */
export async function listCampaigns(pool: Pool, tenantId: number | null): Promise<Campaign[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ slug: string; tenant: string; spend_cents: string; created_at: Date }[]>`
      select c.slug, t.slug as tenant, s.spend_cents, c.created_at
      from campaign as c join tenant as t on t.id = c.tenant_id join campaign_spend as s on s.campaign_id = c.id
      where ${tenantId}::int is null or c.tenant_id = ${tenantId}
      order by t.slug, c.slug`,
  );
  return rows.map((row) => ({
    slug: row.slug,
    tenant: row.tenant,
    spendCents: Number(row.spend_cents),
    createdAt: row.created_at.toISOString(),
  }));
}

/** The id of a tenant's campaign, or `null`. */
export async function findCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<number | null> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ id: number }[]>`
      select id from campaign where tenant_id = ${campaign.tenantId} and slug = ${campaign.slug}`);
  return row?.id ?? null;
}
