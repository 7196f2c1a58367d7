/**
 * The command line.
 *
 * @module
 */

import { parseArgs } from "node:util";
import {
  type ListName,
  listNames,
  lists,
  type NumberName,
  numberNames,
  numbers,
  type Options,
} from "./options.ts";
import type { Suite } from "./suite.ts";

/** A run: a suite by its name, and how it is run. */
export interface Asked {
  readonly name: string;
  readonly suite: Suite;
  readonly options: Options;
}

/** What `--help` prints. */
export function help(suites: Readonly<Record<string, Suite>>): string {
  const line = (name: string, about: string) => `  ${name.padEnd(15)}  ${about}`;
  return [
    "npm run bench -- SUITE [options]",
    "",
    ...Object.entries(suites).flatMap(([name, suite]) => [
      line(name, suite.about),
      line("", `rows: ${rowsOf(suite, settle({}, suite)).join(", ")}`),
    ]),
    "",
    line("--rows a,b", "only these rows"),
    line("--quick", "a smoke test: few and short rounds"),
    ...numberNames.map((name) => line(`--${name} N`, `${numbers[name].about} (${numbers[name].whole})`)),
    ...listNames.map((name) =>
      line(`--${name} N,…`, `${lists[name].about} (${lists[name].whole.join(",")})`)
    ),
    line(
      "--against REF",
      "this tree's service beside that of a commit, or of another folder, with the same load;",
    ),
    line("", "without --rows what the suite begins with"),
    line("--runtime R", "what the service runs on: node or deno"),
    line("--apart", "attacks: the public reads and the operator's pages in processes of their own"),
    line("--profile", "flame graphs of one round of ours and of PostgreSQL, into build/bench/profile/"),
    line("--save", "keeps the result in docs/benchmarks/"),
  ].join("\n");
}

/**
 * Reads the command line.
 *
 * @throws {Error} with a sentence for the person at the terminal
 */
export function readCommand(args: string[], suites: Readonly<Record<string, Suite>>): Asked | "help" {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...Object.fromEntries([...numberNames, ...listNames].map((name) => [name, text])),
      rows: text,
      against: text,
      runtime: text,
      quick: flag,
      profile: flag,
      save: flag,
      apart: flag,
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) return "help";
  const [name = "", further] = positionals;
  const suite = suites[name];
  if (suite === undefined || further !== undefined) {
    throw new Error(`Which of ${Object.keys(suites).join(", ")}?`);
  }
  const options = settle(values, suite);
  const known = rowsOf(suite, options);
  const unknown = options.rows.find((row) => !known.includes(row));
  if (unknown !== undefined) {
    throw new Error(`There is no row ${unknown} in ${name}, but ${known.join(", ")}`);
  }
  if (!["node", "deno"].includes(options.runtime)) throw new Error("--runtime is node or deno");
  if (options.profile && options.runtime !== "node") throw new Error("--profile is for --runtime node");
  return { name, suite, options };
}

function settle(values: Readonly<Record<string, string | boolean | undefined>>, suite: Suite): Options {
  const { quick = false, profile = false, save = false, apart = false } = values as Partial<Options>;
  const { rows, against, runtime } = values as Readonly<Record<string, string | undefined>>;
  const counted = numberNames.map((name): [NumberName, number] => {
    const text = values[name];
    if (text !== undefined && !/^[1-9]\d{0,8}$/.test(String(text))) {
      throw new Error(`--${name} takes a whole number from 1`);
    }
    return [
      name,
      Number(text ?? (quick ? numbers[name].quick : suite.defaults?.[name] ?? numbers[name].whole)),
    ];
  });
  const listed = listNames.map((name): [ListName, readonly number[]] => {
    const text = values[name];
    if (text === undefined) return [name, lists[name][quick ? "quick" : "whole"]];
    if (!/^\d{1,9}(,\d{1,9})*$/.test(String(text))) {
      throw new Error(`--${name} takes whole numbers with a comma between them`);
    }
    return [name, [...new Set(String(text).split(",").map(Number))].sort((a, b) => a - b)];
  });
  return {
    ...Object.fromEntries(counted) as Record<NumberName, number>,
    ...Object.fromEntries(listed) as Record<ListName, readonly number[]>,
    rows: rows?.split(",") ?? [],
    against,
    runtime: (runtime ?? (process.versions.deno === undefined ? "node" : "deno")) as Options["runtime"],
    quick,
    profile,
    save,
    apart,
    warmUpSeconds: quick ? 1 : 4,
  };
}

function rowsOf(suite: Suite, options: Options): string[] {
  return suite.groups(options).flatMap(({ rows }) => Object.keys(rows));
}
