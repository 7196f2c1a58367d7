/** Reads a tenant's statement: the figures of a month by source, and its leads one by one. */

import type { Pool } from "../pool.ts";
import { query } from "../query.ts";
import { type DeliveryState, readStates } from "./events.ts";
import { readReport } from "./report.ts";
import { type Figures, ofSource, type ReportRow, reportRows, sumRows } from "./report_rows.ts";
import type { FoundTenant } from "./tenants.ts";

/** What a statement covers. */
export interface StatementScope {
  readonly tenant: FoundTenant;
  /** The name of the month, such as `2026-11`. */
  readonly month: string;
  /** The month's bounds in the tenant's time zone, as ISO 8601 in UTC. */
  readonly since: string;
  readonly until: string;
  /** A source's label, or `null` for all. */
  readonly source: string | null;
}

export interface Statement {
  readonly rows: readonly ReportRow[];
  readonly total: Figures;
}

/**
 * Reads the figures of the report for the month.
 *
 * Chosen: without form submissions, which cost nothing and which a customer does not return.
 */
export async function readStatement(
  pool: Pool,
  { tenant, since, until, source }: StatementScope,
): Promise<Statement> {
  const data = await readReport(pool, { since, until, tenant: tenant.slug });
  const sources = ofSource(data.sources, source).filter(({ kind }) => kind === "lead");
  const { rows } = reportRows({ ...data, sources });
  return { rows, total: sumRows(rows) };
}

/** Returns the labels of all keys for leads that the tenant has or had. */
export async function readLabels(pool: Pool, tenant: FoundTenant): Promise<string[]> {
  return (await readSources(pool, { tenant, source: null })).map(({ label }) => label);
}

async function readSources(
  pool: Pool,
  { tenant, source }: Pick<StatementScope, "tenant" | "source">,
): Promise<{ label: string; keyIds: number[] }[]> {
  return await query(pool, (sql) =>
    sql<{ label: string; keyIds: number[] }[]>`
      select label, array_agg(id) as "keyIds" from api_key
      where tenant_id = ${tenant.id} and surface = 'intake' and (${source}::text is null or label = ${source})
      group by label order by label`);
}

/** Audits that the leads' contacts were exported. */
export async function auditContacts(pool: Pool, { tenant, month, source }: StatementScope): Promise<void> {
  const detail = JSON.stringify({ month, source });
  await query(
    pool,
    (sql) => sql`select note_audit('tenant.export_contacts', ${tenant.slug}, ${detail}::text::json)`,
  );
}

interface StatementLead {
  readonly localTime: string;
  readonly eventId: string;
  readonly externalId: string | null;
  readonly area: string | null;
  readonly zip: string | null;
  readonly costCents: number | null;
  readonly returnedAt: string | null;
  readonly reason: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  readonly email: string | null;
}

type Column = (lead: StatementLead, names: { readonly source: string; readonly state: DeliveryState }) =>
  | string
  | null;

const columns: Readonly<Record<string, Column>> = {
  local_time: (lead) => lead.localTime,
  event_id: (lead) => lead.eventId,
  source: (_, { source }) => source,
  external_id: (lead) => lead.externalId,
  area: (lead) => lead.area,
  zip: (lead) => lead.zip,
  cost: ({ costCents }) => costCents === null ? null : (costCents / 100).toFixed(2),
  state: (_, { state }) => state,
  returned: (lead) => lead.returnedAt,
  reason: (lead) => lead.reason,
};
const contactColumns: Readonly<Record<string, Column>> = {
  first_name: (lead) => lead.firstName,
  last_name: (lead) => lead.lastName,
  phone: (lead) => lead.phone,
  email: (lead) => lead.email,
};

// 1 MB at most, unless external ids and names are as long as they may be.
const pageRows = 1_000;

/**
 * Reads the leads of a statement by source and time, as pages of cells for CSV; the first page is the header. Times are local;
 * costs are in dollars. Holds one page at a time.
 */
export async function* readStatementCells(
  pool: Pool,
  scope: StatementScope,
  { withContacts }: { readonly withContacts: boolean },
): AsyncGenerator<(string | null)[][]> {
  const chosen = withContacts ? { ...columns, ...contactColumns } : columns;
  yield [Object.keys(chosen)];
  for (const { keyIds, label: source } of await readSources(pool, scope)) {
    for (let page = await readLeads(pool, scope, keyIds, ""); page.length > 0;) {
      const states = await readStates(pool, page.map(({ eventId }) => eventId));
      yield page.map((lead, index) => {
        const names = { source, state: states[index] as DeliveryState };
        return Object.values(chosen).map((cell) => cell(lead, names));
      });
      page = page.length < pageRows ? [] : await readLeads(pool, scope, keyIds, page.at(-1)?.eventId ?? "");
    }
  }
}

async function readLeads(
  pool: Pool,
  { tenant, since, until }: StatementScope,
  keyIds: readonly number[],
  after: string,
): Promise<StatementLead[]> {
  const format = "YYYY-MM-DD HH24:MI:SS";
  return await query(pool, (sql) =>
    sql<StatementLead[]>`
      select to_char(e.received_at at time zone ${tenant.timeZone}, ${format}) as "localTime", e.event_id as "eventId",
        e.lead ->> 'external_id' as "externalId", e.lead ->> 'project_area' as area, e.lead ->> 'zip' as zip,
        coalesce(e.cost_cents, (e.lead ->> 'cost_cents')::int) as "costCents",
        case when r.undoes is null then to_char(r.at at time zone ${tenant.timeZone}, ${format}) end as "returnedAt",
        r.reason, e.lead ->> 'first_name' as "firstName", e.lead ->> 'last_name' as "lastName",
        e.lead ->> 'phone' as phone, e.lead ->> 'email' as email
      from (
        select i.event_id
        from unnest(${[...keyIds]}::int[]) as k (id)
        cross join lateral (
          select e.event_id from event as e
          -- Compared as rows; otherwise the planner may scan all events for a key with few.
          where (e.key_id, e.event_id) > (k.id, greatest(${after}, event_id_at(${since}::timestamptz)))
            and (e.key_id, e.event_id) < (k.id, event_id_at(${until}::timestamptz))
          order by e.key_id, e.event_id limit ${pageRows}
        ) as i
        order by i.event_id limit ${pageRows}
      ) as i
      join event as e on e.event_id = i.event_id
      left join lateral (
        select r.at, r.reason, r.undoes from lead_return as r where r.event_id = e.event_id order by r.id desc limit 1
      ) as r on true
      order by e.event_id`);
}
