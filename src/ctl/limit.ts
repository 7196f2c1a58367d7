/**
 * Raised limits on the command line: the same three options for keys and for networks.
 *
 * @module
 */

import type { Rate } from "#src/contract/limits.ts";
import type { RaisedLimit } from "#src/store/operator/api_keys.ts";
import { type Input, type OptionRule, WrongUsage } from "./command.ts";
import { shortTime } from "./terminal.ts";
import { parseCount, parseTime } from "./values.ts";

// A bound against slips of the finger, far above what one database takes.
const countMax = 10_000_000;

/** The options of a command that raises a limit. */
export const limitOptions: Readonly<Record<string, OptionRule>> = {
  "per-minute": { value: "N", description: "requests a minute, sustained" },
  burst: { value: "N", description: "requests at once" },
  until: { value: "TIME", description: "when the published limit holds again" },
  clear: { description: "let the published limit hold again now" },
};

/**
 * The limit that is given, or `null` for `--clear`.
 *
 * Chosen: one below the published limit is wrong usage, because partners build on what is published; what this is for
 * are agreed backfills, and a slip of the finger would refuse their leads.
 */
export function parseLimit(input: Input, published: Rate): RaisedLimit | null {
  const names = ["per-minute", "burst", "until"] as const;
  const given = names.filter((name) => input.option(name) !== undefined);
  if (input.has("clear")) {
    if (given.length > 0) throw new WrongUsage(`--clear goes without --${given[0]}`);
    return null;
  }
  const missing = names.filter((name) => input.option(name) === undefined);
  if (missing.length > 0) {
    throw new WrongUsage(`Missing: ${missing.map((name) => `--${name}`).join(", ")}`);
  }
  return {
    perMinute: parseRaised(input, "per-minute", published.perMinute),
    burst: parseRaised(input, "burst", published.burst),
    until: parseTime(input.required("until"), { name: "--until", direction: "future", nowMs: Date.now() }),
  };
}

function parseRaised(input: Input, name: "per-minute" | "burst", published: number): number {
  const count = parseCount(input.required(name), `--${name}`, countMax);
  if (count >= published) return count;
  throw new WrongUsage(`--${name} ${count} is below the published ${published}; limits can only be raised`);
}

/** A limit in JSON. */
export function limitJson(limit: RaisedLimit | null) {
  return limit === null ? null : { per_minute: limit.perMinute, burst: limit.burst, until: limit.until };
}

/** A limit in words. */
export function limitText(limit: RaisedLimit): string {
  return `${limit.perMinute}/min, burst ${limit.burst} until ${shortTime(limit.until)} UTC`;
}
