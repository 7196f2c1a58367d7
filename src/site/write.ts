/**
 * Puts a built site where it is served from.
 *
 * @module
 */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import type { SiteFiles } from "./build.ts";

/**
 * Writes the files into a new folder beside `dir` and then exchanges the two: whoever reads `dir` meanwhile sees the old
 * site or the new one, never a mix. What an ended build has left beside it is removed.
 *
 * @throws {Error} when `dir` is something else than an earlier site
 */
export function writeSite(dir: string, files: SiteFiles): void {
  const target = resolve(dir);
  refuseStranger(target);
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  removeLeftovers(parent, basename(target));
  const fresh = `${target}.new-${process.pid}`;
  const old = `${target}.old-${process.pid}`;
  try {
    for (const [path, bytes] of files) {
      const file = join(fresh, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    exchange(target, fresh, old);
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  }
}

// Two renames: there is no call here that swaps two folders at once. Between them, for microseconds, there is no site.
function exchange(target: string, fresh: string, old: string): void {
  if (!existsSync(target)) return renameSync(fresh, target);
  renameSync(target, old);
  try {
    renameSync(fresh, target);
  } catch (error) {
    renameSync(old, target);
    throw error;
  }
}

/** A wrong SITE_DIR must not cost anybody a folder. */
function refuseStranger(target: string): void {
  if (!existsSync(target)) return;
  const isSite = existsSync(join(target, "llms.txt")) && existsSync(join(target, "assets/site.data"));
  if (isSite || readdirSync(target).length === 0) return;
  throw new Error(`${target} holds something else than a site; choose another SITE_DIR, or empty it`);
}

function removeLeftovers(parent: string, name: string): void {
  for (const entry of readdirSync(parent)) {
    const pid = entry.startsWith(`${name}.`) ? /\.(?:new|old)-(\d+)$/.exec(entry)?.[1] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    rmSync(join(parent, entry), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
