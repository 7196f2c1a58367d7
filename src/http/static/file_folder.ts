/**
 * The files below a folder, and never one outside of it.
 *
 * @module
 */

import { LruCache } from "../lru_cache.ts";
import type { ByteRange } from "./conditional.ts";
import { FileChanged, FileSource, FileVersion, isSame, openFile, settledStat } from "./file_version.ts";
import { randomBytes } from "node:crypto";
import { type BigIntStats, existsSync } from "node:fs";
import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import process from "node:process";

/**
 * Runs one round of a job at a time for each key. Who asks during a round gets the next one, together with all
 * who ask until it begins: nobody is told what was true before the question, and a thousand questions at once
 * cost two rounds.
 */
class Coalescer<T> {
  readonly #running = new Map<string, { next: Promise<T> | null; readonly current: Promise<T> }>();

  /** The outcome of a round that begins after this call. */
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

/** What a name stands for. */
export type Found =
  | { readonly kind: "file"; readonly file: FileVersion }
  | { readonly kind: "folder" }
  /** Nothing, or nothing that is served: a device, a link that leads out, a file that may not be read. */
  | { readonly kind: "none" };

/** A range up to this length, or a whole file, is read at once; what is longer comes in pieces. */
const wholeBytesMax = 128 * 1024;
/** Files whose tag is remembered; a tag costs reading the whole file. */
const versionsMax = 4_096;
/** Of files that are kept in memory, each at most {@linkcode wholeBytesMax}. */
const keptBytesMax = 32 * 1024 * 1024;
/** How often a file is looked at anew that changes under our eyes. */
const triesMax = 5;

/** What the file system says of a name that serves nobody. Anything else is a fault: too many open files, a broken disk. */
const missing: ReadonlySet<unknown> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "EINVAL",
  "EACCES",
  "EPERM",
  // A socket, or a device without its driver.
  "ENXIO",
  "ENODEV",
]);

const isDeno = "Deno" in globalThis;
/** Linux knows where an open file lies; Deno lets nobody ask who has not all rights. */
const tellsPlace = !isDeno && process.platform === "linux" && existsSync("/proc/self/fd");
/**
 * Elsewhere a name is followed and looked at again, which somebody who turns a folder into a link and back could get
 * between. Of a file outside only one of two looks is right at any moment: that the name leads inside, or that it leads to
 * what is open. Nobody knows which one is next, so each is passed with a chance of a half, whatever is turned how fast.
 *
 * Rejected: both in turns, a dozen times. One run of the tests in some hundred was served a file from outside.
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

  /** The folder may be missing, or a link that is changed to another folder while it is served. */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * What is there now: the file system is asked each time, so that a file replaced is served at once.
   *
   * @throws what the file system throws when it cannot answer; {@linkcode FileChanged} when a file is written
   * without a pause
   */
  find(names: readonly string[]): Promise<Found> {
    const name = names.join("/");
    return this.#rounds.ask(name, () => this.#find(name));
  }

  /**
   * The bytes of a range: a source when they are many, which must be taken to its end or cancelled.
   *
   * @throws {FileChanged} when the file is not this version of it any longer: find it again
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

  /** The open file is the one that is judged: what its name leads to may change meanwhile. */
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
        // Deno lets us read below the name that the folder was given, not where a link of that name leads.
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

/** Which looks an open file has to pass: at its place, or (false) at whether its name leads to it. */
function looks(): boolean[] {
  return [true, false, ...Array.from(randomBytes(chancesAgainst), (byte) => byte % 2 === 0)];
}

/** Where an open file lies, free of symbolic links; `path` is what it was opened by. */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  return tellsPlace ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
}

/** What is there now; something was a moment ago. */
async function statOf(path: string): Promise<BigIntStats> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new FileChanged("The file has gone", { cause: error });
  }
}
