/**
 * One state of a file, and its bytes: read at once, or sent piece by piece as the client takes them.
 *
 * @module
 */

import { strongTag } from "../etag.ts";
import { type Sink, Source } from "../source.ts";
import type { ByteRange } from "./conditional.ts";
import { createHash } from "node:crypto";
import { type BigIntStats, constants, fstatSync, read } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * Buffers of two sizes. A download gets a large one as long as not too many are out, else a small one, so that all
 * downloads together hold a bounded amount however many wait for their clients.
 *
 * Measured with 1,000 stalled clients on Node 24: a fresh buffer for every piece left 260 MiB of resident memory
 * behind, most of it garbage that the allocator keeps.
 */
export class BufferPool {
  readonly #largeMax: number;
  readonly #large: Uint8Array[] = [];
  readonly #small: Uint8Array[] = [];
  #largeOut = 0;

  /** At most `largeMax` large pieces are out at a time. */
  constructor(options: { readonly largeMax: number }) {
    this.#largeMax = options.largeMax;
  }

  /** How many large pieces are out. */
  get largeOut(): number {
    return this.#largeOut;
  }

  /** A piece for what is left of a download. */
  take(bytesLeft: number): Uint8Array {
    if (bytesLeft <= smallBytes || this.#largeOut >= this.#largeMax) {
      return this.#small.pop() ?? new Uint8Array(smallBytes);
    }
    this.#largeOut++;
    return this.#large.pop() ?? new Uint8Array(largeBytes);
  }

  /** Takes a piece back that nothing refers to any longer: its bytes are with the kernel, or their connection is closed. */
  give(piece: Uint8Array): void {
    if (piece.length === largeBytes) this.#largeOut--;
    const free = piece.length === largeBytes ? this.#large : this.#small;
    if (free.length < freeMax) free.push(piece);
  }
}

// A client that takes less than a piece within the listener's bound for stalled readers loses its download: with
// 20 s that is 3 KB/s for a large one and 0.8 KB/s for a small one.
const largeBytes = 64 * 1024;
const smallBytes = 16 * 1024;
/** What is kept of the small ones when nobody needs them: 16 MiB at most. */
const freeMax = 1_024;

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

/** 1,000 clients that stop reading hold 22 MiB together, each further one 16 KiB. */
const pieces = new BufferPool({ largeMax: 128 });

/**
 * A range of a file. The version must have been acquired for it, and is released when the source ends, fails or is
 * cancelled. It fails with {@linkcode FileChanged} rather than give bytes of another state of the file. Nothing
 * is read ahead of the client.
 */
export class FileSource extends Source {
  readonly #version: FileVersion;
  readonly #end: number;
  #at: number;
  #piece: Uint8Array | null = null;
  /** How much of the piece there is to read, and how much is read. */
  #wanted = 0;
  #filled = 0;
  #sink: Sink | null = null;
  #isOver = false;

  constructor(version: FileVersion, { start, end }: ByteRange) {
    super();
    this.#version = version;
    this.#at = start;
    this.#end = end;
  }

  next(sink: Sink): void {
    if (this.#isOver) return;
    if (this.#piece !== null) pieces.give(this.#piece);
    this.#piece = null;
    const left = this.#end - this.#at;
    if (left === 0) {
      this.#close();
      sink.end();
      return;
    }
    this.#piece = pieces.take(left);
    this.#wanted = Math.min(left, this.#piece.length);
    this.#filled = 0;
    this.#sink = sink;
    this.#read();
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The descriptor is not closed under a read, which sees to it when it is through.
    if (this.#sink === null) this.#close();
  }

  #read(): void {
    const piece = this.#piece as Uint8Array;
    const { fd } = this.#version;
    read(fd, piece, this.#filled, this.#wanted - this.#filled, this.#at + this.#filled, this.#arrived);
  }

  // One function for all pieces.
  readonly #arrived = (error: unknown, bytesRead: number): void => {
    if (this.#isOver) return this.#close();
    this.#filled += bytesRead;
    const failure = error ?? (bytesRead === 0 || !this.#version.isUnchanged() ? changed() : null);
    const sink = this.#sink as Sink;
    if (failure !== null) {
      this.#close();
      sink.fail(failure);
    } else if (this.#filled < this.#wanted) {
      this.#read();
    } else {
      this.#sink = null;
      this.#at += this.#wanted;
      sink.piece((this.#piece as Uint8Array).subarray(0, this.#wanted));
    }
  };

  #close(): void {
    this.#isOver = true;
    this.#sink = null;
    if (this.#piece !== null) pieces.give(this.#piece);
    this.#piece = null;
    this.#version.release();
  }
}

function changed(): FileChanged {
  return new FileChanged("The file has changed while it was sent");
}
