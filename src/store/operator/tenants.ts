import { ask, askOne, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** A tenant. Times are ISO 8601, UTC. */
interface Tenant {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
  /** An IANA name. */
  readonly timeZone: string;
  /** `HH:MM` in its time zone; `null`: no digest. */
  readonly digestAt: string | null;
  readonly digestActions: boolean;
  /** Days for which content is kept; `null`: forever. */
  readonly retentionDays: number | null;
  /** Since when its keys are rejected. */
  readonly disabledAt: string | null;
  readonly createdAt: string;
}

/** Adds a tenant and audits it; `false` when the slug is taken. */
export async function addTenant(
  pool: Pool,
  tenant: { readonly slug: string; readonly name: string; readonly sandbox: boolean },
): Promise<boolean> {
  const rows = await ask(pool, (sql) =>
    sql`
      with added as (
        insert into tenant (slug, name, sandbox) values (${tenant.slug}, ${tenant.name}, ${tenant.sandbox})
        on conflict (slug) do nothing
        returning slug, sandbox
      )
      select note_audit('tenant.add', a.slug, json_build_object('sandbox', a.sandbox))
      from added as a`);
  return rows.length === 1;
}

/** All tenants by slug. */
export async function listTenants(pool: Pool): Promise<Tenant[]> {
  return await ask(pool, (sql) =>
    sql<Tenant[]>`
      select t.id, t.slug, t.name, t.sandbox, t.time_zone as "timeZone",
        to_char(t.digest_at, 'HH24:MI') as "digestAt", t.digest_actions as "digestActions", t.retention_days as "retentionDays",
        ${isoOf(sql, sql`t.disabled_at`)} as "disabledAt",
        ${isoOf(sql, sql`t.created_at`)} as "createdAt"
      from tenant as t order by t.slug`);
}

/** A change to a tenant; omitted members stay. */
export interface TenantChange {
  readonly name?: string;
  /** A name for which {@linkcode hasTimeZone} holds. */
  readonly timeZone?: string;
  /** `HH:MM` in its time zone, or `null` for no digest. */
  readonly digestAt?: string | null;
  readonly digestActions?: boolean;
}

/** Whether the database has a time zone with exactly this name. */
export async function hasTimeZone(pool: Pool, name: string): Promise<boolean> {
  const row = await askOne(pool, (sql) =>
    sql<{ found: boolean }[]>`
      select exists (select from pg_timezone_names as z where z.name = ${name}) as found`);
  return row?.found ?? false;
}

/** Changes a tenant, audits it, and returns it, or `null` when there is none. */
export async function changeTenant(
  pool: Pool,
  slug: string,
  change: TenantChange,
): Promise<Required<TenantChange> | null> {
  // JSON leaves out undefined members.
  const changes = JSON.stringify({
    name: change.name,
    time_zone: change.timeZone,
    digest_at: change.digestAt,
    digest_actions: change.digestActions,
  });
  return await askOne(pool, (sql) =>
    sql<Required<TenantChange>[]>`
      select c.name, c.time_zone as "timeZone", to_char(c.digest_at, 'HH24:MI') as "digestAt",
        -- The statement sees the row as it was before.
        coalesce((p.changes ->> 'digest_actions')::boolean, t.digest_actions) as "digestActions"
      from (select ${changes}::text::jsonb as changes) as p
      cross join lateral set_tenant(${slug}, p.changes) as c
      join tenant as t on t.slug = ${slug}`);
}

export interface TenantStatus {
  /** ISO 8601, UTC; `null`: enabled. */
  readonly disabledAt: string | null;
  /** It was so before. */
  readonly isUnchanged: boolean;
  /** Keys that were suspended or enabled. */
  readonly keys: number;
}

/** Disables or enables a tenant; `null` when there is none. On return no event of a suspended key can commit. */
export async function disableTenant(
  pool: Pool,
  slug: string,
  isDisabled: boolean,
): Promise<TenantStatus | null> {
  return await askOne(pool, (sql) =>
    sql<TenantStatus[]>`
      select ${isoOf(sql, sql`d.disabled_at`)} as "disabledAt", d.is_unchanged as "isUnchanged",
        d.keys
      from disable_tenant(${slug}, ${isDisabled}) as d`);
}

/** Keeps the content of a tenant's events for some days, `null`: forever; `false` when there is no such tenant. */
export async function setRetention(pool: Pool, slug: string, days: number | null): Promise<boolean> {
  const row = await askOne(
    pool,
    (sql) => sql<{ done: boolean }[]>`select set_retention(${slug}, ${days}) as done`,
  );
  return row?.done ?? false;
}

/** The tenant with this slug, or `null`. */
export async function findTenant(
  pool: Pool,
  slug: string,
): Promise<{ readonly id: number; readonly sandbox: boolean; readonly isDisabled: boolean } | null> {
  return await askOne(pool, (sql) =>
    sql<{ id: number; sandbox: boolean; isDisabled: boolean }[]>`
      select id, sandbox, disabled_at is not null as "isDisabled" from tenant where slug = ${slug}`);
}

interface Campaign {
  readonly campaign: string;
  readonly tenant: string;
  readonly spendCents: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Adds a campaign and audits it; `false` when the tenant has one with this slug. */
export async function addCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<boolean> {
  const rows = await ask(pool, (sql) =>
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
  return await ask(pool, (sql) =>
    sql<Campaign[]>`
      select c.slug as campaign, t.slug as tenant, s.spend_cents::float8 as "spendCents",
        ${isoOf(sql, sql`c.created_at`)} as "createdAt"
      from campaign as c join tenant as t on t.id = c.tenant_id join campaign_spend as s on s.campaign_id = c.id
      where ${tenantId}::int is null or c.tenant_id = ${tenantId}
      order by t.slug, c.slug`);
}

export async function findCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<number | null> {
  const row = await askOne(pool, (sql) =>
    sql<{ id: number }[]>`
      select id from campaign where tenant_id = ${campaign.tenantId} and slug = ${campaign.slug}`);
  return row?.id ?? null;
}
