/**
 * What the figures were taken on.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, freemem, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { figure } from "./stats.ts";

/** The machine and the versions, for the report. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly freeGiB: number;
  readonly kernel: string;
  /** The load of the last minute before the run: near 0 on a quiet machine. */
  readonly loadBefore: number;
  /** Median of writing and syncing 8 KiB in the build folder. */
  readonly syncMs: number;
  readonly node: string;
  /** Of this repository; a `+` says that the tree had changes. */
  readonly commit: string;
}

/** Looks at the machine; `folder` is where the disk is tried. */
export function describeMachine(folder: string): Machine {
  const gibibytes = (bytes: number) => Math.round(bytes / 2 ** 30 * 10) / 10;
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: gibibytes(totalmem()),
    freeGiB: gibibytes(freemem()),
    kernel: release(),
    loadBefore: loadavg()[0] ?? 0,
    syncMs: syncMs(folder),
    node: process.version,
    commit: commit(),
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
  return Math.round(figure(samples).median * 1_000) / 1_000;
}

function commit(): string {
  const git = (...args: string[]) =>
    spawnSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" })
      .stdout?.trim() ?? "";
  return `${git("rev-parse", "--short", "HEAD")}${git("status", "--porcelain") === "" ? "" : "+"}`;
}
