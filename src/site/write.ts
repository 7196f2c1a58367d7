/**
 * Puts a built site where it is served from.
 *
 * @module
 */

import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
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
  // A link to a folder stays one.
  const target = existsSync(dir) ? realpathSync(dir) : resolve(dir);
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

/** How often another build of the same folder may come in between. */
const triesMax = 20;

// Two renames: there is no call here that swaps two folders at once. Between them, for microseconds, there is no site.
function exchange(target: string, fresh: string, old: string): void {
  for (let tries = 1;; tries++) {
    const had = tryRename(target, old);
    try {
      return renameSync(fresh, target);
    } catch (error) {
      if (had && !existsSync(target)) renameSync(old, target);
      // Another build was quicker: its site is replaced in turn.
      if (!/^(ENOTEMPTY|EEXIST)$/.test(codeOf(error)) || tries === triesMax) throw error;
      rmSync(old, { recursive: true, force: true });
    }
  }
}

/** `false` when there is nothing to rename. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
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
    return codeOf(error) === "EPERM";
  }
}
