/**
 * What the figures were taken on.
 *
 * @module
 */

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { figure, significant } from "./stats.ts";

/** The machine, without its name. */
export interface Machine {
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly cpuModel: string;
  /** The load of the last minute before the run: near 0 on a quiet machine. */
  readonly loadBefore: number;
  /** Median of writing and syncing 8 KiB in the folder. */
  readonly syncMs: number;
}

/** Looks at the machine; `folder` is where the disk is tried. */
export function describeMachine(folder: string): Machine {
  const all = cpus();
  return {
    cpus: all.length,
    memoryGiB: significant(totalmem() / 2 ** 30),
    cpuModel: all[0]?.model ?? "unknown",
    loadBefore: significant(loadavg()[0] ?? 0),
    syncMs: significant(syncMs(folder)),
  };
}

function syncMs(folder: string): number {
  const file = join(folder, "sync_probe");
  const page = new Uint8Array(8_192).fill(1);
  const descriptor = openSync(file, "w");
  const samples = Array.from({ length: 200 }, () => {
    const startedAtMs = performance.now();
    writeSync(descriptor, page, 0, page.length, 0);
    fdatasyncSync(descriptor);
    return performance.now() - startedAtMs;
  });
  closeSync(descriptor);
  rmSync(file);
  return figure(samples).median;
}
