/**
 * Where a process of ours spends its time, by Node's CPU profiler.
 *
 * @module
 */

import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildFolder } from "./programs.ts";
import { digits } from "./stats.ts";

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

/** A profile that a process is going to write. */
interface Profile {
  /** Flags of Node for that process. */
  readonly nodeFlags: readonly string[];
  /** Prints the file and the hottest functions, once the process has ended. */
  tell(): void;
}

/** Says how the next one is made. */
export function openProfile(): Profile {
  const folder = mkdtempSync(join(buildFolder, "profile-"));
  return {
    nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${folder}`],
    tell() {
      for (const name of readdirSync(folder)) {
        const file = join(folder, name);
        console.log([file, ...hottest(JSON.parse(readFileSync(file, "utf8")))].join("\n"));
      }
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
