/**
 * The options of `npm run prove`.
 *
 * @module
 */

import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

/** What is to be run. */
export interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly roundSeconds: number;
  readonly nodes: number;
  readonly callers: number;
  readonly pauseMs: number;
  readonly killsPerMinute: number;
  readonly postgresKillsPerMinute: number;
  readonly shrinkTries: number;
  /** Names of bugs, all when empty; `null`: no bugs are planted. */
  readonly planted: readonly string[] | null;
}

/** What `--help` prints. */
export const usage = `Usage: npm run prove -- [--minutes M] [--seed N]
       npm run prove -- --planted [NAME …]

Runs the service, kills and cuts everything around it, and looks whether every promise was kept.

  --minutes M                    how long; rounds are begun until then (default 3)
  --seed N                       repeats a run; a round's own seed repeats that round with --minutes 0
  --round-seconds N              the length of a round (default 90)
  --nodes N                      service processes (default 2)
  --callers N, --pause-ms N      clients, and the pause between two requests of one (defaults 12, 60)
  --kills-per-minute N           of service processes (default 20)
  --postgres-kills-per-minute N  of PostgreSQL (default 4)
  --shrink-tries N               how many smaller schedules are tried after a failure (default 30; 0: none)
  --planted                      plants each known bug in a copy and looks whether it is caught

It needs Linux with setpriv, and as root a tmpfs; where that cannot be mounted no disk runs full.
Exit status 1 when a promise was broken, or a planted bug was not caught; 2 for wrong usage.`;

/** Reads them; `null` for --help. Throws for what cannot be used. */
export function readOptions(args: readonly string[]): Options | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h" },
      planted: { type: "boolean" },
      ...Object.fromEntries(
        [...Object.keys(defaults), "seed"].map((name) => [name, { type: "string" as const }]),
      ),
    },
  });
  if (values.help) return null;
  if (positionals.length > 0 && !values.planted) throw new Error(`Unknown argument: ${positionals[0]}`);
  const number = (name: keyof typeof defaults | "seed") => {
    const text = (values as Record<string, unknown>)[name];
    const value = text === undefined ? name === "seed" ? randomInt(2 ** 31) : defaults[name] : Number(text);
    if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} is no number: ${text}`);
    return value;
  };
  return {
    minutes: number("minutes"),
    seed: number("seed"),
    roundSeconds: number("round-seconds"),
    nodes: number("nodes"),
    callers: number("callers"),
    pauseMs: number("pause-ms"),
    killsPerMinute: number("kills-per-minute"),
    postgresKillsPerMinute: number("postgres-kills-per-minute"),
    shrinkTries: number("shrink-tries"),
    planted: values.planted ? positionals : null,
  };
}

const defaults = {
  "minutes": 3,
  "round-seconds": 90,
  "nodes": 2,
  "callers": 12,
  "pause-ms": 60,
  "kills-per-minute": 20,
  "postgres-kills-per-minute": 4,
  "shrink-tries": 30,
};
