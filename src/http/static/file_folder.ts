/** The files below a folder, never one outside. */

import { LruCache } from "../lru_cache.ts";
import type { ByteRange } from "./conditional.ts";
import { FileChanged, FileSource, FileVersion, isSame, openFile, settledStat } from "./file_version.ts";
import { randomBytes } from "node:crypto";
import { type BigIntStats, existsSync } from "node:fs";
import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import process from "node:process";

/**
 * Runs one round of a job at a time per key. Calls during a round share the next one, so that no result is older than its
 * call, and a thousand concurrent calls cost two rounds.
 */
class Coalescer<T> {
  readonly #running = new Map<string, { next: Promise<T> | null; readonly current: Promise<T> }>();

  /** The result of a round that starts after this call. */
  ask(key: string, job: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, job);
    const again = () => this.#begin(key, job);
    running.next ??= running.current.then(again, again);
    return running.next;
  }

  #begin(key: string, job: () => Promise<T>): Promise<T> {
    const current = job();
    const round = { next: null, current };
    this.#running.set(key, round);
    const done = () => {
      if (round.next === null) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}

/** The result of a lookup. */
export type Found =
  | { readonly kind: "file"; readonly file: FileVersion }
  | { readonly kind: "folder" }
  /** Nothing to serve: missing, a device, a link to outside, or unreadable. */
  | { readonly kind: "none" };

/** Up to this length a range or file is read at once, otherwise in pieces. */
const wholeBytesMax = 128 * 1024;
/** Cached tags; computing one reads the whole file. */
const versionsMax = 4_096;
/** Bytes of cached files, each at most {@linkcode wholeBytesMax}. */
const keptBytesMax = 32 * 1024 * 1024;
/** Attempts for a file that keeps changing. */
const triesMax = 5;

/** Errors that mean 404. Others are faults, such as too many open files. */
const missing: ReadonlySet<unknown> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "EINVAL",
  "EACCES",
  "EPERM",
  // A socket, or a device without a driver.
  "ENXIO",
  "ENODEV",
]);

const isDeno = "Deno" in globalThis;
/** Linux reports an open file's path; Deno needs all permissions for it. */
const tellsPlace = !isDeno && process.platform === "linux" && existsSync("/proc/self/fd");
/**
 * Elsewhere the path is resolved and checked again, which races with an attacker who swaps a folder for a link and back.
 * For a file outside only one of two checks can hold at a time (the path is inside; the path is the open file), so a
 * random sequence of them fails for any timing.
 *
 * Rejected: alternating both a dozen times; one test run in a hundred was served a file from outside.
 */
const chancesAgainst = tellsPlace ? 0 : 30;

const folder: Found = { kind: "folder" };
const none: Found = { kind: "none" };

/** A folder whose files are served. */
export class FileFolder {
  readonly #root: string;
  readonly #rounds = new Coalescer<Found>();
  readonly #versions = new LruCache<string, Found & { kind: "file" }>(versionsMax, () => 1);
  readonly #contents = new LruCache<FileVersion, Uint8Array>(keptBytesMax, (bytes) => bytes.length);

  /** The folder may be missing, or a link that changes while it is served. */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Looks a file up in the file system each time, so that a replaced file is served at once.
   *
   * @throws the file system's faults; {@linkcode FileChanged} for a file that keeps changing
   */
  find(names: readonly string[]): Promise<Found> {
    const name = names.join("/");
    return this.#rounds.ask(name, () => this.#find(name));
  }

  /**
   * The bytes of a range; a source if they are many, which must be read to its end or canceled.
   *
   * @throws {FileChanged} if the file has changed: look it up again
   */
  async body(file: FileVersion, range: ByteRange): Promise<Uint8Array | FileSource> {
    const kept = this.#contents.get(file);
    if (kept !== undefined) return kept.subarray(range.start, range.end);
    if (file.size === 0) return new Uint8Array(0);
    await file.acquire();
    if (range.end - range.start > wholeBytesMax) return new FileSource(file, range);
    try {
      if (file.size > wholeBytesMax) return await file.bytes(range);
      const bytes = await file.bytes({ start: 0, end: file.size });
      this.#contents.put(file, bytes);
      return bytes.subarray(range.start, range.end);
    } finally {
      file.release();
    }
  }

  async #find(name: string): Promise<Found> {
    const path = join(this.#root, name);
    try {
      const stats = await stat(path, { bigint: true });
      if (stats.isDirectory()) return folder;
      if (!stats.isFile()) return none;
      const known = this.#versions.get(name);
      if (known !== undefined) {
        if (isSame(known.file.stats, stats)) return known;
        this.#forget(name);
      }
      return await this.#look(name, path);
    } catch (error) {
      if (!missing.has((error as NodeJS.ErrnoException).code)) throw error;
      this.#forget(name);
      return none;
    }
  }

  async #look(name: string, path: string): Promise<Found> {
    for (let attempt = 1;; attempt++) {
      try {
        const file = await this.#open(path);
        if (file === null) return none;
        const found = { kind: "file", file } as const;
        this.#versions.put(name, found);
        return found;
      } catch (error) {
        if (!(error instanceof FileChanged) || attempt === triesMax) throw error;
      }
    }
  }

  /** Checks the open file, because its path may change meanwhile. */
  async #open(path: string): Promise<FileVersion | null> {
    const root = await realpath(this.#root);
    const handle = await openFile(path);
    try {
      const stats = await settledStat(handle);
      if (!stats.isFile()) return null;
      const inside = root.endsWith(sep) ? root : root + sep;
      for (const isOfPlace of looks()) {
        if (!isOfPlace) {
          if (!isSame(stats, await statOf(path))) throw new FileChanged("The file was replaced");
          continue;
        }
        const real = await placeOf(handle, path);
        if (!real.startsWith(inside)) {
          await this.#checkRoot(root);
          return null;
        }
        // Deno permits reads below the configured path, not below a link's target.
        path = isDeno ? join(this.#root, real.slice(inside.length)) : real;
      }
      await this.#checkRoot(root);
      return await FileVersion.read(path, handle, stats);
    } finally {
      await handle.close();
    }
  }

  async #checkRoot(root: string): Promise<void> {
    if (await realpath(this.#root) !== root) throw new FileChanged("The folder is another one");
  }

  #forget(name: string): void {
    const known = this.#versions.get(name);
    if (known === undefined) return;
    this.#versions.drop(name);
    this.#contents.drop(known.file);
  }
}

/** The sequence of checks: the path is inside, or (false) the path is the open file. */
function looks(): boolean[] {
  return [true, false, ...Array.from(randomBytes(chancesAgainst), (byte) => byte % 2 === 0)];
}

/** An open file's path without symbolic links; `path` opened it. */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  return tellsPlace ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
}

/** Looks again at a path that existed a moment ago. */
async function statOf(path: string): Promise<BigIntStats> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new FileChanged("The file has gone", { cause: error });
  }
}
