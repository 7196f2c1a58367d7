/** `GET /v1/statement`: the leads of a tenant's month as CSV, for its statement. */

import { csvText } from "../http/csv.ts";
import type { Handler } from "../http/exchange.ts";
import { TextSource } from "../http/source.ts";
import { readScope, readStatementCells, type StatementScope } from "../store/operator/statement.ts";
import { findTenant, type FoundTenant } from "../store/operator/tenants.ts";
import type { Pool } from "../store/pool.ts";
import { InvalidParameter, Parameters } from "./parameters.ts";
import { textReply } from "./reply.ts";

const faults = {
  month: "It must be a year and a month, such as 2026-11",
  source: "It must be the label of a key that the tenant has or had for leads",
} as const;

/**
 * Returns what a tenant's statement for a month such as `2026-11` covers.
 *
 * @throws {InvalidParameter}
 */
export async function statementScope(
  pool: Pool,
  tenant: FoundTenant,
  named: { readonly month: string; readonly source: string | null },
): Promise<StatementScope> {
  const scope = await readScope(pool, tenant, named);
  if (typeof scope === "string") throw new InvalidParameter(scope, faults[scope], named[scope]);
  return scope;
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
