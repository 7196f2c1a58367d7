/**
 * One round of our server under Node's CPU profiler, and where its time went.
 *
 * @module
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Bench, loadTarget, onFreshDatabase } from "./measure.ts";
import { digits } from "./stats.ts";
import { buildFolder, startOurs } from "./targets.ts";

/** What a `.cpuprofile` holds, as far as it is read here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const shown = 40;

/** Runs the round and returns the hottest functions as text. */
export async function profile(bench: Bench): Promise<string> {
  const { options } = bench;
  const profiled = openProfile();
  const perSecond = await onFreshDatabase(
    bench,
    async ({ url: databaseUrl }) => {
      const target = await startOurs({ databaseUrl, nodeFlags: profiled.nodeFlags });
      try {
        const round = {
          connections: options.inFlight,
          warmUpSeconds: options.warmUpSeconds,
          seconds: options.roundSeconds,
        };
        return (await loadTarget(bench, target, round)).perSecond;
      } finally {
        await target.stop();
      }
    },
  );
  return [`${digits(perSecond)} leads/s under the profiler`, ...profiled.read()].join("\n");
}

/** A profile that a process is going to write. */
export interface Profile {
  /** Flags of Node for that process. */
  readonly nodeFlags: readonly string[];
  /** Lines of text, once the process has ended: the file, and the hottest functions. */
  read(): string[];
}

/** Removes profiles of earlier runs and says how the next one is made. */
export function openProfile(): Profile {
  const profiles = () => readdirSync(buildFolder).filter((name) => name.endsWith(".cpuprofile"));
  for (const name of profiles()) rmSync(join(buildFolder, name));
  return {
    nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${buildFolder}`],
    read() {
      const [name] = profiles();
      if (name === undefined) throw new Error("Node wrote no .cpuprofile");
      const file = join(buildFolder, name);
      return [file, ...hottest(JSON.parse(readFileSync(file, "utf8")))];
    },
  };
}

/** Functions by the time spent in themselves, in percent of the time that was not idle. */
function hottest({ nodes, samples, timeDeltas }: CpuProfile): string[] {
  const names = new Map(nodes.map(({ id, callFrame }) => {
    const { functionName, url, lineNumber } = callFrame;
    const place = url === "" ? "" : ` ${url.replace(/^.*\/(?=(src|node_modules)\/)/, "")}:${lineNumber + 1}`;
    return [id, `${functionName || "(anonymous)"}${place}`];
  }));
  const selfUs = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? "?";
    selfUs.set(name, (selfUs.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const idleUs = selfUs.get("(idle)") ?? 0;
  selfUs.delete("(idle)");
  const busyUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  return [
    `busy ${digits(busyUs / 1e6)} s, idle ${digits(idleUs / 1e6)} s`,
    ...[...selfUs].sort(([, a], [, b]) => b - a).slice(0, shown)
      .map(([name, us]) => `${(us / busyUs * 100).toFixed(1).padStart(5)} %  ${name}`),
  ];
}
