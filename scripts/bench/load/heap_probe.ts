/**
 * Imported by a server of Node: counts what it allocates on V8's heap. The first SIGUSR2 begins, the second tells
 * what was found since then; each is answered by what it writes into a file.
 *
 * @module
 */

import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GCProfiler, getHeapStatistics } from "node:v8";

/** What the second signal is answered with. */
export interface Allocated {
  readonly bytes: number;
  /** Collections of the young generation. */
  readonly minor: number;
  /** All others. */
  readonly major: number;
}

/** Where a process writes it; the file is there from its start to its end. */
export function heapFile(folder: string, pid: number): string {
  return join(folder, `heap_${pid}.json`);
}

const used = () => getHeapStatistics().used_heap_size;

/** Between two collections only allocations change what is in use. */
function count(profiler: GCProfiler, usedBefore: number): Allocated {
  const usedAfter = used();
  const { statistics } = profiler.stop();
  let bytes = 0;
  let usedLast = usedBefore;
  for (const { beforeGC, afterGC } of statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - usedLast;
    usedLast = afterGC.heapStatistics.usedHeapSize;
  }
  const minor = statistics.filter(({ gcType }) => gcType === "Scavenge").length;
  return { bytes: bytes + usedAfter - usedLast, minor, major: statistics.length - minor };
}

const folder = process.env.HEAP_PROBE_FOLDER;
if (folder !== undefined) {
  const file = heapFile(folder, process.pid);
  writeFileSync(file, "");
  process.on("exit", () => rmSync(file, { force: true }));
  let begun: { readonly profiler: GCProfiler; readonly usedBefore: number } | null = null;
  const answer = (value: Allocated | "begun") => {
    // Whoever looks finds all of it or nothing.
    writeFileSync(`${file}.new`, JSON.stringify(value));
    renameSync(`${file}.new`, file);
  };
  process.on("SIGUSR2", () => {
    if (begun === null) {
      begun = { profiler: new GCProfiler(), usedBefore: used() };
      begun.profiler.start();
      answer("begun");
    } else {
      answer(count(begun.profiler, begun.usedBefore));
      begun = null;
    }
  });
}
