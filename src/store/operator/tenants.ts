import { isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import type postgres from "postgres";
import { query, queryOne } from "../query.ts";

/** A tenant. Times are ISO 8601, UTC. */
export interface Tenant {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  /** An IANA name. */
  readonly timeZone: string;
  /** When the daily digest is due, `HH:MM` in the tenant's time zone; `null` for no digest. */
  readonly digestAt: string | null;
  readonly digestActions: boolean;
  /** How many days content is retained; `null` for forever. */
  readonly retentionDays: number | null;
  /** When the tenant was disabled, so that its keys are rejected; `null` if it is enabled. */
  readonly disabledAt: string | null;
  readonly createdAt: string;
}

/** Adds a tenant and audits it; returns `false` if the slug is taken. */
export async function addTenant(
  pool: Pool,
  tenant: { readonly slug: string; readonly name: string; readonly sandbox: boolean },
): Promise<boolean> {
  const rows = await query(pool, (sql) =>
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

/** Lists all tenants by slug. */
export async function listTenants(pool: Pool): Promise<Tenant[]> {
  return await query(pool, (sql) => sql<Tenant[]>`${selectTenants(sql)} order by t.slug`);
}

/** Reads a tenant; returns `null` if there is none. */
export async function readTenant(pool: Pool, slug: string): Promise<Tenant | null> {
  return await queryOne(pool, (sql) => sql<Tenant[]>`${selectTenants(sql)} where t.slug = ${slug}`);
}

const selectTenants = (sql: postgres.Sql) =>
  sql`select t.id, t.slug, t.name, t.sandbox, t.has_route as "hasRoute", t.time_zone as "timeZone",
      to_char(t.digest_at, 'HH24:MI') as "digestAt", t.digest_actions as "digestActions", t.retention_days as "retentionDays",
      ${isoTime(sql, sql`t.disabled_at`)} as "disabledAt", ${isoTime(sql, sql`t.created_at`)} as "createdAt"
    from tenant as t`;

/** A change to a tenant; omitted members are unchanged. */
export interface TenantChange {
  readonly name?: string;
  /** A name that {@linkcode hasTimeZone} confirms. */
  readonly timeZone?: string;
  /** `HH:MM` in the tenant's time zone, or `null` for no digest. */
  readonly digestAt?: string | null;
  readonly digestActions?: boolean;
}

/** Returns whether the database has a time zone with exactly this name. */
export async function hasTimeZone(pool: Pool, name: string): Promise<boolean> {
  const row = await queryOne(pool, (sql) =>
    sql<{ found: boolean }[]>`
      select exists (select from pg_timezone_names as z where z.name = ${name}) as found`);
  return row?.found ?? false;
}

/** Changes a tenant, audits the change, and returns the new values, or `null` if there is no such tenant. */
export async function changeTenant(
  pool: Pool,
  slug: string,
  change: TenantChange,
): Promise<Required<TenantChange> | null> {
  // `JSON.stringify` omits undefined members.
  const changes = JSON.stringify({
    name: change.name,
    time_zone: change.timeZone,
    digest_at: change.digestAt,
    digest_actions: change.digestActions,
  });
  return await queryOne(pool, (sql) =>
    sql<Required<TenantChange>[]>`
      select c.name, c.time_zone as "timeZone", to_char(c.digest_at, 'HH24:MI') as "digestAt",
        -- This statement's snapshot contains the row as it was before set_tenant.
        coalesce((p.changes ->> 'digest_actions')::boolean, t.digest_actions) as "digestActions"
      from (select ${changes}::text::jsonb as changes) as p
      cross join lateral set_tenant(${slug}, p.changes) as c
      join tenant as t on t.slug = ${slug}`);
}

export interface TenantStatus {
  /** ISO 8601, UTC; `null` if the tenant is enabled. */
  readonly disabledAt: string | null;
  readonly isUnchanged: boolean;
  /** The number of keys that this call suspended or enabled. */
  readonly keys: number;
}

/** Disables or enables a tenant; returns `null` if there is none. After it returns, no post with a suspended key commits. */
export async function setTenantDisabled(
  pool: Pool,
  slug: string,
  isDisabled: boolean,
): Promise<TenantStatus | null> {
  return await queryOne(pool, (sql) =>
    sql<TenantStatus[]>`
      select ${isoTime(sql, sql`d.disabled_at`)} as "disabledAt", d.is_unchanged as "isUnchanged",
        d.keys
      from disable_tenant(${slug}, ${isDisabled}) as d`);
}

/** Sets how many days a tenant's content is retained (`null`: forever); returns `false` if there is no such tenant. */
export async function setRetention(pool: Pool, slug: string, days: number | null): Promise<boolean> {
  const row = await queryOne(
    pool,
    (sql) => sql<{ done: boolean }[]>`select set_retention(${slug}, ${days}) as done`,
  );
  return row?.done ?? false;
}

/** The members of a tenant that most commands need. */
export type FoundTenant = Pick<Tenant, "id" | "slug" | "name" | "sandbox" | "timeZone">;

export async function findTenant(pool: Pool, slug: string): Promise<FoundTenant | null> {
  return await queryOne(pool, (sql) =>
    sql<FoundTenant[]>`
      select id, slug, name, sandbox, time_zone as "timeZone" from tenant where slug = ${slug}`);
}

interface Campaign {
  readonly campaign: string;
  readonly tenant: string;
  /** The cost of all its leads, the part that was credited for returned ones, and the difference. */
  readonly spendCents: number;
  readonly creditCents: number;
  readonly netCents: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Adds a campaign and audits it; returns `false` if the tenant has one with this slug. */
export async function addCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<boolean> {
  const rows = await query(pool, (sql) =>
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

/** Lists the campaigns of one tenant or, with `null`, of all tenants, by tenant and slug. */
export async function listCampaigns(pool: Pool, tenantId: number | null): Promise<Campaign[]> {
  return await query(pool, (sql) =>
    sql<Campaign[]>`
      select c.slug as campaign, t.slug as tenant, s.spend_cents::float8 as "spendCents",
        s.credit_cents::float8 as "creditCents", s.net_cents::float8 as "netCents",
        ${isoTime(sql, sql`c.created_at`)} as "createdAt"
      from campaign as c join tenant as t on t.id = c.tenant_id join campaign_spend as s on s.campaign_id = c.id
      where ${tenantId}::int is null or c.tenant_id = ${tenantId}
      order by t.slug, c.slug`);
}

export async function findCampaign(
  pool: Pool,
  campaign: { readonly slug: string; readonly tenantId: number },
): Promise<number | null> {
  const row = await queryOne(pool, (sql) =>
    sql<{ id: number }[]>`
      select id from campaign where tenant_id = ${campaign.tenantId} and slug = ${campaign.slug}`);
  return row?.id ?? null;
}
