/** Builds the commands that list rows, and looks up tenants by slug. */

import type { Pool } from "#src/store/pool.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";
import { findTenant, type FoundTenant } from "#src/store/operator/tenants.ts";
import { type Command, type Input, Refused } from "./command.ts";
import { type Columns, table } from "./terminal.ts";
import { parseCount } from "./values.ts";

const listedMax = 10_000;

/** Returns the refusal for the slug of a tenant that does not exist. */
export function noSuchTenant(slug: string): Refused {
  return new Refused(
    `There is no tenant ${slug}; ctl tenant list shows them, ctl tenant add ${slug} adds it`,
  );
}

/**
 * Returns the tenant with this slug.
 *
 * @throws {Refused} if there is none
 */
export async function requireTenant(pool: Pool, slug: string): Promise<FoundTenant> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) throw noSuchTenant(slug);
  return tenant;
}

/** Returns the id of the tenant that `--tenant` names, or `null` without the option. */
export async function optionalTenantId(pool: Pool, slug: string | undefined): Promise<number | null> {
  return slug === undefined ? null : (await requireTenant(pool, slug)).id;
}

/** The values of `--tenant` and `--limit`. */
interface ListPage {
  /** `null` for all tenants. */
  readonly tenantId: number | null;
  readonly limit: number;
}

interface List<Row extends object> extends Pick<Command, "words" | "summary" | "notes"> {
  /** The options other than `--tenant` and `--limit`. */
  readonly options?: Command["options"];
  /** Whether the command has the option `--tenant`. */
  readonly isTenantScoped?: true;
  /** The default for the option `--limit`; if omitted, the command has no such option. */
  readonly limit?: number;
  /** Describes the rows that `--limit` returns, as in `The newest 50`; default `newest`. */
  readonly order?: "newest" | "first";
  /** Checks `options` and returns the function that reads the rows. */
  readonly prepare: (input: Input) => (pool: Pool, page: ListPage) => Promise<readonly Row[]>;
  /** The text for an empty list. */
  readonly empty: string;
  readonly columns: Columns<Row>;
  /** Returns a last line for the text output, or `null`. */
  readonly footer?: (pool: Pool, page: ListPage) => Promise<string | null>;
  /** Converts a row to JSON. Default: all members, in snake_case. */
  readonly json?: (row: Row) => unknown;
}

export function listCommand<Row extends object>(list: List<Row>): Command {
  const { words, summary, notes, isTenantScoped, limit: limitDefault, order = "newest" } = list;
  return {
    words,
    options: {
      ...(isTenantScoped === true ? { tenant: { value: "SLUG", description: "only this tenant" } } : {}),
      ...list.options,
      ...(limitDefault === undefined
        ? {}
        : { limit: { value: "N", description: `at most N; default ${limitDefault}` } }),
    },
    summary,
    ...(notes === undefined ? {} : { notes }),
    prepare(input) {
      const limit = parseCount(
        input.option("limit") ?? String(limitDefault ?? listedMax),
        "--limit",
        listedMax,
      );
      const read = list.prepare(input);
      return async (pool) => {
        const tenantId = isTenantScoped === true
          ? await optionalTenantId(pool, input.option("tenant"))
          : null;
        const rows = await read(pool, { tenantId, limit });
        const footer = input.json ? null : await list.footer?.(pool, { tenantId, limit }) ?? null;
        const isTruncated = limitDefault !== undefined && rows.length >= limit;
        return {
          json: rows.map((row) => list.json === undefined ? snakeCased(row) : list.json(row)),
          text: table(rows, list.empty, list.columns) +
            (isTruncated ? `\n\nThe ${order} ${limit}; --limit N shows more.` : "") +
            (footer === null ? "" : `\n\n${footer}`),
        };
      };
    },
  };
}
