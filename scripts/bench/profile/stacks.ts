/**
 * Where time was spent, by call stack: read from what Node's and Linux's profilers write.
 *
 * @module
 */

/** A call stack, the outermost function first, and the time that was spent in its last one, in any unit. */
export interface Stack {
  readonly frames: readonly string[];
  readonly weight: number;
}

/** What a `.cpuprofile` holds, as far as it is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** From 0. */
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the machine's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds. */
  readonly timeDeltas: readonly number[];
}

/**
 * The stacks of a profile of Node from a time on (microseconds of the machine's monotonic clock), but for the time in
 * which there was nothing to do; weights in microseconds.
 */
export function ofCpuProfile(
  { nodes, samples, timeDeltas, startTime }: CpuProfile,
  fromUs = -Infinity,
): Stack[] {
  const weights = new Map<number, number>();
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    const tookUs = timeDeltas[index] ?? 0;
    atUs += tookUs;
    if (atUs >= fromUs) weights.set(id, (weights.get(id) ?? 0) + Math.max(0, tookUs));
  }
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const names = new Map(nodes.map(({ id, callFrame }) => {
    const { functionName, url, lineNumber } = callFrame;
    const file = url.replace(/^.*\/node_modules\//, "").replace(/^file:.*?\/(?=src\/)/, "");
    return [id, `${functionName || "(anonymous)"}${url === "" ? "" : ` ${file}:${lineNumber + 1}`}`];
  }));
  return [...weights].map(([id, weight]) => {
    const frames: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      frames.unshift(names.get(at) ?? "?");
    }
    return { frames: frames[0] === "(root)" ? frames.slice(1) : frames, weight };
  }).filter(({ frames }) => frames[0] !== "(idle)");
}

/** How a process of PostgreSQL comes to its work: the same for all of them. */
const startFrames = new Set([
  "_start",
  "__libc_start_main@@GLIBC_2.34",
  "__libc_start_call_main",
  "main",
  "PostmasterMain",
  "ServerLoop",
  "postmaster_child_launch",
  "BackendMain",
]);

/**
 * The stacks that `perf script -F pid,ip,sym` prints, one a sample: a line with the process's id, then a line a
 * function, the innermost first, then an empty line. Each begins with the name of its process.
 */
export function ofPerf(text: string, processName: (pid: number) => string): Stack[] {
  return text.split(/\n\s*\n/).flatMap((sample) => {
    const [head = "", ...lines] = sample.trim().split("\n");
    const pid = Number(head.trim().split(/\s/)[0]);
    if (lines.length === 0 || !Number.isInteger(pid)) return [];
    const frames = lines.map((line) => line.trim().replace(/^[0-9a-f]+ /, "")).toReversed()
      .filter((name) => !startFrames.has(name));
    return [{ frames: [processName(pid), ...frames], weight: 1 }];
  });
}

/**
 * Lines of a table of functions: the time spent in themselves, and that with what they call, in percent of all. Those
 * with the most are told, by the one or the other.
 */
export function hottest(stacks: readonly Stack[], by: "itself" | "within", shown: number): string[] {
  const found = { itself: new Map<string, number>(), within: new Map<string, number>() };
  for (const { frames, weight } of stacks) {
    const add = (name: string, to: Map<string, number>) => to.set(name, (to.get(name) ?? 0) + weight);
    add(frames.at(-1) ?? "?", found.itself);
    for (const frame of new Set(frames)) add(frame, found.within);
  }
  const total = totalOf(stacks);
  const percent = (weight = 0) => (weight / total * 100).toFixed(1).padStart(5);
  return [...found[by]].sort(([, a], [, b]) => b - a).slice(0, shown).map(([name]) =>
    `${percent(found.itself.get(name))} %  ${percent(found.within.get(name))} %  ${name}`
  );
}

/** The sum of the weights. */
export function totalOf(stacks: readonly Stack[]): number {
  return stacks.reduce((sum, { weight }) => sum + weight, 0);
}
