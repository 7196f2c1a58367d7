/** Commands that list: their options, their tables, and the tenant that they are narrowed to. */

import type { Pool } from "#src/store/pool.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";
import { findTenant } from "#src/store/operator/tenants.ts";
import { type Command, type Input, Refused } from "./command.ts";
import { type Columns, table } from "./terminal.ts";
import { parseCount } from "./values.ts";

const listedMax = 10_000;

/** For a slug that no tenant has. */
export function noSuchTenant(slug: string): Refused {
  return new Refused(`There is no tenant ${slug}; ctl tenant list shows those there are`);
}

/**
 * The tenant with this slug.
 *
 * @throws {Refused} when there is none
 */
export async function requireTenant(
  pool: Pool,
  slug: string,
): Promise<{ readonly id: number; readonly sandbox: boolean; readonly isDisabled: boolean }> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) throw noSuchTenant(slug);
  return tenant;
}

/** The id of the tenant that `--tenant` names, or `null` when it is not given. */
export async function optionalTenantId(pool: Pool, slug: string | undefined): Promise<number | null> {
  return slug === undefined ? null : (await requireTenant(pool, slug)).id;
}

/** What is read of the command line of every list. */
interface ListPage {
  /** Of `--tenant`; `null`: of all. */
  readonly tenantId: number | null;
  readonly limit: number;
}

/** A command that lists; what {@linkcode Command} has is as there. */
interface List<Row extends object> extends Pick<Command, "words" | "summary" | "notes"> {
  /** Its options besides `--tenant` and `--limit`. */
  readonly options?: Command["options"];
  /** It has the option `--tenant`. */
  readonly isOfTenant?: true;
  /** It has the option `--limit`, and this is its default. */
  readonly limit?: number;
  /** Which rows a limit leaves: `newest` when left out. */
  readonly order?: "newest" | "first";
  /** Checks the options of its own, and returns what reads the rows. */
  readonly prepare: (input: Input) => (pool: Pool, page: ListPage) => Promise<readonly Row[]>;
  /** What is said where there are none. */
  readonly empty: string;
  readonly columns: Columns<Row>;
  /** A row as JSON has it; left out: all of its members. */
  readonly json?: (row: Row) => unknown;
}

/** The command of a list. */
export function listCommand<Row extends object>(list: List<Row>): Command {
  const { words, summary, notes, isOfTenant, limit: byDefault, order = "newest" } = list;
  return {
    words,
    options: {
      ...(isOfTenant === true ? { tenant: { value: "SLUG", description: "only this tenant's" } } : {}),
      ...list.options,
      ...(byDefault === undefined
        ? {}
        : { limit: { value: "N", description: `at most N; ${byDefault} when left out` } }),
    },
    summary,
    ...(notes === undefined ? {} : { notes }),
    prepare(input) {
      const limit = parseCount(input.option("limit") ?? String(byDefault ?? listedMax), "--limit", listedMax);
      const read = list.prepare(input);
      return async (pool) => {
        const tenantId = isOfTenant === true ? await optionalTenantId(pool, input.option("tenant")) : null;
        const rows = await read(pool, { tenantId, limit });
        const isCut = byDefault !== undefined && rows.length >= limit;
        return {
          json: rows.map((row) => list.json === undefined ? snakeCased(row) : list.json(row)),
          text: table(rows, list.empty, list.columns) +
            (isCut ? `\n\nThe ${order} ${limit}; --limit N shows more.` : ""),
        };
      };
    },
  };
}
