/** `GET /v1/statement`: the leads of a tenant's month as CSV, for its statement. */

import { csvText } from "../http/csv.ts";
import type { Handler } from "../http/exchange.ts";
import { TextSource } from "../http/source.ts";
import { monthBounds, TimeZone } from "../http/time_zone.ts";
import { readLabels, readStatementCells, type StatementScope } from "../store/operator/statement.ts";
import { findTenant, type FoundTenant } from "../store/operator/tenants.ts";
import type { Pool } from "../store/pool.ts";
import { InvalidParameter, Parameters } from "./parameters.ts";
import { textReply } from "./reply.ts";

/**
 * Returns what a tenant's statement for a month such as `2026-11` covers.
 *
 * @throws {InvalidParameter} for a text that is not a month, or a source that had no key for leads
 */
export async function statementScope(
  pool: Pool,
  tenant: FoundTenant,
  { month, source }: { readonly month: string; readonly source: string | null },
): Promise<StatementScope> {
  const bounds = monthBounds(month, new TimeZone(tenant.timeZone));
  if (bounds === null) throw new InvalidParameter("month", "It must be a year and a month, such as 2026-11");
  if (source !== null && !(await readLabels(pool, tenant)).includes(source)) {
    throw new InvalidParameter("source", "The tenant has no such source for leads", source);
  }
  return { tenant, month, source, ...bounds };
}

/**
 * Chosen: without contacts, because a GET leaves no audit row; `ctl statement --csv --contacts` has them. The body is read from
 * the store page by page, at the client's pace.
 */
export function statementHandler(pool: Pool): Handler {
  return async ({ query }) => {
    const parameters = new Parameters(query, ["tenant", "month", "source"]);
    const [slug, month] = [parameters.text("tenant") ?? "", parameters.text("month") ?? ""];
    const tenant = await findTenant(pool, slug);
    if (tenant === null) throw new InvalidParameter("tenant", "It must be the slug of a tenant");
    const scope = await statementScope(pool, tenant, { month, source: parameters.text("source") });
    return textReply(new TextSource(csvTexts(pool, scope)), {
      "Content-Type": "text/csv; charset=utf-8; header=present",
      "Content-Disposition": `attachment; filename="statement-${tenant.slug}-${month}.csv"`,
    });
  };
}

async function* csvTexts(pool: Pool, scope: StatementScope): AsyncGenerator<string> {
  for await (const rows of readStatementCells(pool, scope, { withContacts: false })) yield csvText(rows);
}
