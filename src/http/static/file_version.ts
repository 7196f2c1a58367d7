/**
 * One state of one file: what it was when it was looked at, and its bytes as long as it is that.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { constants, fstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { BigIntStats } from "node:fs";
import type { ByteRange } from "./range.ts";
import { strongTag } from "../etag.ts";

/** The file is not, or no longer, what it was when it was looked at. */
export class FileChanged extends Error {
  override readonly name = "FileChanged";
}

/** Opening a FIFO or a device must neither wait nor do anything. Windows has neither flag nor need. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const hashPieceBytes = 256 * 1024;
/**
 * The clock of file systems: what is written within one tick of it has one time. A file is looked at again when
 * that is over, so that a later change has a later time. Linux ticks 100 to 1,000 times a second.
 */
const tickMs = 20;
const looksMax = 50;

/** Opens a file to read it. */
export function openFile(path: string): Promise<FileHandle> {
  return open(path, flags);
}

/**
 * The state of an open file, once it has been left alone for a tick of the file system's clock.
 *
 * @throws {FileChanged} when it is being written all the time
 */
export async function settledStat(handle: FileHandle): Promise<BigIntStats> {
  for (let look = 0; look < looksMax; look++) {
    const stats = await handle.stat({ bigint: true });
    const ageMs = Date.now() - Number(stats.mtimeNs / 1_000_000n);
    // A time to come was set by somebody, and says nothing of the last change.
    if (ageMs >= tickMs || ageMs < -tickMs || !stats.isFile()) return stats;
    await new Promise((resolve) => setTimeout(resolve, tickMs - Math.max(0, ageMs)));
  }
  throw new FileChanged("The file is being written");
}

/** Whether two looks at a file saw the same file in the same state. */
export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.ctimeNs === other.ctimeNs &&
    hasSameBytes(one, other);
}

/** Whether an open file still has the bytes it had. Its name may have gone: that changes only the ctime. */
function hasSameBytes(one: BigIntStats, other: BigIntStats): boolean {
  return one.size === other.size && one.mtimeNs === other.mtimeNs;
}

/** A state of a file, with the strong tag of its bytes. */
export class FileVersion {
  /** Free of symbolic links below the folder that is served, when it was looked at. */
  readonly path: string;
  readonly stats: BigIntStats;
  readonly size: number;
  readonly modifiedMs: number;
  readonly tag: string;
  #users = 0;
  #fd = -1;
  /** With the fraction, as far as a number has it. */
  #mtimeMs = 0;
  #handle: Promise<FileHandle> | null = null;

  private constructor(path: string, stats: BigIntStats, tag: string) {
    this.path = path;
    this.stats = stats;
    this.size = Number(stats.size);
    this.modifiedMs = Number(stats.mtimeNs / 1_000_000n);
    this.tag = tag;
  }

  /**
   * Reads an open file through and makes its version. The handle stays the caller's.
   *
   * @throws {FileChanged} when it is written meanwhile
   */
  static async read(path: string, handle: FileHandle, stats: BigIntStats): Promise<FileVersion> {
    const hash = createHash("sha256");
    const size = Number(stats.size);
    const buffer = new Uint8Array(Math.min(size, hashPieceBytes));
    for (let at = 0; at < size;) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - at), at);
      if (bytesRead === 0) throw new FileChanged("The file has become shorter");
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    if (!hasSameBytes(stats, await handle.stat({ bigint: true }))) {
      throw new FileChanged("The file has changed while it was read");
    }
    return new FileVersion(path, stats, strongTag(hash.digest()));
  }

  /**
   * Opens the file for one more reader; all readers of a version share one descriptor. Each calls
   * {@linkcode release} once.
   *
   * @throws {FileChanged} when there is another file, or another state of it, by now
   */
  async acquire(): Promise<void> {
    this.#users++;
    const handle = this.#handle ??= this.#open();
    try {
      await handle;
    } catch (error) {
      this.#users--;
      // Another reader may have tried again meanwhile.
      if (this.#handle === handle) this.#handle = null;
      throw error;
    }
  }

  /** The last reader closes the file. */
  release(): void {
    if (--this.#users > 0) return;
    const handle = this.#handle;
    this.#handle = null;
    // An error of close() comes after all bytes were read, and nothing is left to do about it.
    handle?.then((opened) => opened.close()).catch(() => {});
  }

  /** The descriptor; only between {@linkcode acquire} and {@linkcode release}. */
  get fd(): number {
    return this.#fd;
  }

  /**
   * Whether the open file still has the bytes it had. A write sets the time before it changes the first byte: asked
   * behind a read, nothing is missed. The state of an open file is in memory; to ask for it from another thread
   * would cost more than the answer.
   */
  isUnchanged(): boolean {
    const { size, mtimeMs } = fstatSync(this.#fd);
    return size === this.size && mtimeMs === this.#mtimeMs;
  }

  /**
   * Reads a range in full; only between {@linkcode acquire} and {@linkcode release}.
   *
   * @throws {FileChanged} when the bytes are not those of this version
   */
  async bytes({ start, end }: ByteRange): Promise<Uint8Array> {
    const handle = await (this.#handle as Promise<FileHandle>);
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
      if (bytesRead === 0) throw new FileChanged("The file has become shorter");
      at += bytesRead;
    }
    if (!this.isUnchanged()) throw new FileChanged("The file has changed while it was read");
    return bytes;
  }

  async #open(): Promise<FileHandle> {
    let handle: FileHandle;
    try {
      handle = await openFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new FileChanged("The file has gone", { cause: error });
    }
    try {
      this.#fd = handle.fd;
      this.#mtimeMs = fstatSync(handle.fd).mtimeMs;
      if (isSame(this.stats, await handle.stat({ bigint: true }))) return handle;
      throw new FileChanged("The file is another one");
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}
