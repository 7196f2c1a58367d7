/** Defines `ctl statement`. */

import { csvText } from "#src/http/csv.ts";
import { monthBounds, TimeZone, utc } from "#src/http/time_zone.ts";
import { type Figures, refusedPosts, sumOf } from "#src/store/operator/report_rows.ts";
import {
  auditContacts,
  readLabels,
  readStatement,
  readStatementCells,
  type Statement,
  type StatementScope,
} from "#src/store/operator/statement.ts";
import type { Pool } from "#src/store/pool.ts";
import { type Command, Refused, UsageError } from "./command.ts";
import { requireTenant } from "./list.ts";
import { dollars, safe, table } from "./terminal.ts";
import { parseSlug } from "./values.ts";

/** The `ctl statement` command. */
export const statementCommand: Command = {
  words: "statement",
  options: {
    tenant: { value: "SLUG", required: true, description: "the customer" },
    month: { value: "YYYY-MM", required: true, description: "the month, in the customer's time zone" },
    source: { value: "LABEL", description: "only leads of this source (the key's label)" },
    csv: { description: "print CSV with one row a lead instead of the totals" },
    contacts: { description: "with --csv: add names, phone numbers and email addresses; this is audited" },
  },
  summary: "Show what a customer owes for a month, by source",
  notes:
    `GROSS is the cost of all accepted leads, CREDIT that of the leads returned with ctl lead return, and NET the
difference. A credit counts in the month in which the lead was received, whenever it was returned. Form
submissions cost nothing and are left out. Duplicates and refused posts are counted by UTC hour: in a
time zone whose offset is not in whole hours, the hour at a month's end counts where it begins.`,
  prepare(input) {
    const slug = parseSlug(input.required("tenant"));
    const month = input.required("month");
    const source = input.option("source") ?? null;
    const [isCsv, withContacts] = [input.has("csv"), input.has("contacts")];
    if (monthBounds(month, utc) === null) {
      throw new UsageError(`--month must be a year and a month, such as 2026-11: ${month}`);
    }
    if (isCsv && input.json) throw new UsageError("--csv cannot be combined with --json");
    if (withContacts && !isCsv) throw new UsageError("--contacts needs --csv");
    return async (pool) => {
      const scope = await readScope(pool, { slug, month, source });
      if (!isCsv) return reply(scope, await readStatement(pool, scope));
      if (withContacts) await auditContacts(pool, scope);
      return { json: null, text: "", chunks: csvChunks(pool, scope, withContacts) };
    };
  },
};

async function readScope(
  pool: Pool,
  { slug, month, source }: {
    readonly slug: string;
    readonly month: string;
    readonly source: string | null;
  },
): Promise<StatementScope> {
  const tenant = await requireTenant(pool, slug);
  if (source !== null && !(await readLabels(pool, tenant)).includes(source)) {
    throw new Refused(`${slug} has no source ${source} for leads; ctl key list --tenant ${slug} shows them`);
  }
  const bounds = monthBounds(month, new TimeZone(tenant.timeZone)) as { since: string; until: string };
  return { tenant, month, source, ...bounds };
}

async function* csvChunks(pool: Pool, scope: StatementScope, withContacts: boolean): AsyncGenerator<string> {
  for await (const rows of readStatementCells(pool, scope, { withContacts })) yield csvText(rows);
}

function figuresJson(figures: Figures) {
  const { accepted, duplicates, returned, spend_cents, credit_cents, net_cents } = figures;
  const refused = sumOf(refusedPosts(figures));
  return { accepted, duplicates, refused, returned, spend_cents, credit_cents, net_cents };
}

function reply({ tenant, month, since, until }: StatementScope, { rows, total }: Statement) {
  const lines = [
    ...rows.map((row) => ({ source: row.source, ...figuresJson(row) })),
    { source: "All", ...figuresJson(total) },
  ];
  return {
    json: {
      tenant: tenant.slug,
      month,
      time_zone: tenant.timeZone,
      since,
      until,
      sources: lines.slice(0, -1),
      total: figuresJson(total),
    },
    text: `${safe(tenant.name)} (${tenant.slug}), ${month}, ${tenant.timeZone}\n\n${
      table(rows.length === 1 ? lines.slice(0, 1) : lines.slice(rows.length === 0 ? 1 : 0), "No leads.", {
        "SOURCE": ({ source }) => source,
        ">ACCEPTED": ({ accepted }) => String(accepted),
        ">DUPLICATES": ({ duplicates }) => String(duplicates),
        ">REFUSED": ({ refused }) => String(refused),
        ">RETURNED": ({ returned }) => String(returned),
        ">GROSS": ({ spend_cents }) => dollars(spend_cents),
        ">CREDIT": ({ credit_cents }) => dollars(credit_cents),
        ">NET": ({ net_cents }) => dollars(net_cents),
      })
    }`,
  };
}
