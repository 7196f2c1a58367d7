/** Finds and reads files below a folder, and never serves one outside it. */

import type { ByteRange } from "../conditional.ts";
import { LruCache } from "../lru_cache.ts";
import {
  FileChanged,
  FileSource,
  FileVersion,
  isSame,
  openFile,
  requireExisting,
  settledStat,
} from "./file_version.ts";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import process from "node:process";

/** Runs one job at a time per key. Calls that arrive during a run share the next run, so no result is stale. */
class Coalescer<T> {
  readonly #running = new Map<string, { next: Promise<T> | null; readonly current: Promise<T> }>();

  run(key: string, job: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key, job);
    const again = () => this.#start(key, job);
    running.next ??= running.current.then(again, again);
    return running.next;
  }

  #start(key: string, job: () => Promise<T>): Promise<T> {
    const current = job();
    const run = { next: null, current };
    this.#running.set(key, run);
    const done = () => {
      if (run.next === null) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}

type Found =
  | { readonly kind: "file"; readonly file: FileVersion }
  | { readonly kind: "folder" }
  /** A missing or unreadable file, a device, or a link out of the folder. */
  | { readonly kind: "none" };

/** The maximum length of a range or file that is read whole instead of streamed. */
const wholeBytesMax = 128 * 1024;
/** The maximum number of cached versions; to compute an entity tag, the whole file is read. */
const versionsMax = 4_096;
const cachedBytesMax = 32 * 1024 * 1024;
const attemptsMax = 5;

/**
 * The error codes that mean 404 (`ENXIO` and `ENODEV`: a socket, or a device without a driver); any other, such as too
 * many open files, is a fault.
 */
const notFoundCodes: ReadonlySet<unknown> = new Set(
  "ENOENT ENOTDIR EISDIR ELOOP ENAMETOOLONG EINVAL EACCES EPERM ENXIO ENODEV".split(" "),
);

const isDeno = "Deno" in globalThis;
/** Whether `/proc` shows an open file's path; on Deno, reading it needs all permissions. */
const hasProcFd = !isDeno && process.platform === "linux" && existsSync("/proc/self/fd");
/**
 * The number of random checks without `/proc`, where an attacker may swap a folder for a link and back. If the open file
 * is outside, only one check passes at any moment: the path is inside, or it is the open file. Rejected: alternating the
 * checks a dozen times; one test run in a hundred served a file from outside.
 */
const randomChecks = hasProcFd ? 0 : 30;

const folder: Found = { kind: "folder" };
const none: Found = { kind: "none" };

export class FileFolder {
  readonly #root: string;
  readonly #lookups = new Coalescer<Found>();
  readonly #versions = new LruCache<string, Found & { kind: "file" }>(versionsMax, () => 1);
  readonly #contents = new LruCache<FileVersion, Uint8Array>(cachedBytesMax, (bytes) => bytes.length);

  /** `root` may be missing, or a link whose target changes while it is served. */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Looks up a name in the file system, so that a replaced file is served at once. Throws `FileChanged` if the file
   * keeps changing, and any file system error that does not mean 404.
   */
  find(names: readonly string[]): Promise<Found> {
    const name = names.join("/");
    return this.#lookups.run(name, () => this.#find(name));
  }

  /**
   * Returns a range's bytes; for a long range, a source that the caller must read to its end or cancel. Throws
   * `FileChanged` if the file must be looked up again.
   */
  async body(file: FileVersion, range: ByteRange): Promise<Uint8Array | FileSource> {
    const cached = this.#contents.get(file);
    if (cached !== undefined) return cached.subarray(range.start, range.end);
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
        this.#evict(name);
      }
      return await this.#readVersion(name, path);
    } catch (error) {
      if (!notFoundCodes.has((error as NodeJS.ErrnoException).code)) throw error;
      this.#evict(name);
      return none;
    }
  }

  async #readVersion(name: string, path: string): Promise<Found> {
    for (let attempt = 1;; attempt++) {
      try {
        const file = await this.#open(path);
        if (file === null) return none;
        const found = { kind: "file", file } as const;
        this.#versions.put(name, found);
        return found;
      } catch (error) {
        if (!(error instanceof FileChanged) || attempt === attemptsMax) throw error;
      }
    }
  }

  /** Opens the file before its location is checked, because the path may change in between. */
  async #open(path: string): Promise<FileVersion | null> {
    const root = await realpath(this.#root);
    const handle = await openFile(path);
    try {
      const stats = await settledStat(handle);
      if (!stats.isFile()) return null;
      const inside = root.endsWith(sep) ? root : root + sep;
      for (const check of checks()) {
        if (check === "same_file") {
          const again = await requireExisting(stat(path, { bigint: true }));
          if (!isSame(stats, again)) throw new FileChanged("The file was replaced");
          continue;
        }
        const real = await realPathOf(handle, path);
        if (!real.startsWith(inside)) {
          await this.#checkRoot(root);
          return null;
        }
        // Deno's permission covers the configured path, not the target of a link.
        path = isDeno ? join(this.#root, real.slice(inside.length)) : real;
      }
      await this.#checkRoot(root);
      return await FileVersion.read(path, handle, stats);
    } finally {
      await handle.close();
    }
  }

  async #checkRoot(root: string): Promise<void> {
    if (await realpath(this.#root) !== root) throw new FileChanged("The folder was replaced");
  }

  #evict(name: string): void {
    const known = this.#versions.get(name);
    if (known === undefined) return;
    this.#versions.drop(name);
    this.#contents.drop(known.file);
  }
}

type Check = "inside" | "same_file";

function checks(): Check[] {
  return [
    "inside",
    "same_file",
    ...Array.from(randomBytes(randomChecks), (byte): Check => byte % 2 === 0 ? "inside" : "same_file"),
  ];
}

/** Returns the path, without symbolic links, of the file that was opened at `path`. */
async function realPathOf(handle: FileHandle, path: string): Promise<string> {
  return hasProcFd ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
}
