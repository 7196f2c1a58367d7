/** One version of a file and its bytes, read at once or streamed. */

import { strongTag } from "../etag.ts";
import { type Sink, Source } from "../source.ts";
import type { ByteRange } from "./conditional.ts";
import { createHash } from "node:crypto";
import { type BigIntStats, constants, fstatSync, read } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * Reuses buffers of two sizes: large ones up to a limit, then small ones, so that downloads hold bounded memory. Fresh
 * buffers left 260 MiB resident with 1,000 stalled clients (Node 24).
 */
export class BufferPool {
  readonly #largeMax: number;
  readonly #large: Uint8Array[] = [];
  readonly #small: Uint8Array[] = [];
  #largeOut = 0;

  /** `largeMax` bounds the large buffers in use. */
  constructor(options: { readonly largeMax: number }) {
    this.#largeMax = options.largeMax;
  }

  /** Large buffers in use. */
  get largeOut(): number {
    return this.#largeOut;
  }

  /** Takes a buffer for the rest of a download. */
  take(bytesLeft: number): Uint8Array {
    if (bytesLeft <= smallBytes || this.#largeOut >= this.#largeMax) {
      return this.#small.pop() ?? new Uint8Array(smallBytes);
    }
    this.#largeOut++;
    return this.#large.pop() ?? new Uint8Array(largeBytes);
  }

  /** Returns an unreferenced buffer: the kernel has its bytes, or the connection is closed. */
  give(piece: Uint8Array): void {
    if (piece.length === largeBytes) this.#largeOut--;
    const free = piece.length === largeBytes ? this.#large : this.#small;
    if (free.length < freeMax) free.push(piece);
  }
}

// A client must read a piece within the stall timeout: at 20 s, 3 KB/s for large pieces and 0.8 KB/s for small ones.
const largeBytes = 64 * 1024;
const smallBytes = 16 * 1024;
/** Small buffers kept for reuse: 16 MiB at most. */
const freeMax = 1_024;

/** The file has changed. */
export class FileChanged extends Error {
  override readonly name = "FileChanged";
}

/** Opening a FIFO or device must not block; Windows lacks the flags. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const hashPieceBytes = 256 * 1024;
/**
 * The granularity of file times. A version is taken only after a tick without writes, so that a later change has a later
 * time. Linux ticks 100 to 1,000 times a second.
 */
const tickMs = 20;
const looksMax = 50;

/** Opens a file for reading. */
export function openFile(path: string): Promise<FileHandle> {
  return open(path, flags);
}

/**
 * The state of an open file after a tick without writes.
 *
 * @throws {FileChanged} if it keeps changing
 */
export async function settledStat(handle: FileHandle): Promise<BigIntStats> {
  for (let look = 0; look < looksMax; look++) {
    const stats = await handle.stat({ bigint: true });
    const ageMs = Date.now() - Number(stats.mtimeNs / 1_000_000n);
    // A future time was set by hand and does not date the last change.
    if (ageMs >= tickMs || ageMs < -tickMs || !stats.isFile()) return stats;
    await new Promise((resolve) => setTimeout(resolve, tickMs - Math.max(0, ageMs)));
  }
  throw new FileChanged("The file is being written");
}

/** Whether two stats describe the same state of the same file. */
export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.ctimeNs === other.ctimeNs &&
    hasSameBytes(one, other);
}

/** Whether an open file is unchanged; unlinking changes only the ctime. */
function hasSameBytes(one: BigIntStats, other: BigIntStats): boolean {
  return one.size === other.size && one.mtimeNs === other.mtimeNs;
}

/** A version of a file with its strong tag. */
export class FileVersion {
  /** Without symbolic links below the served folder. */
  readonly path: string;
  readonly stats: BigIntStats;
  readonly size: number;
  readonly modifiedMs: number;
  readonly tag: string;
  #users = 0;
  #fd = -1;
  /** With fractions of a millisecond. */
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
   * Reads an open file and creates its version; the caller keeps the handle.
   *
   * @throws {FileChanged} if it changes meanwhile
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
   * Opens the file for a reader; readers of a version share one descriptor, and each calls {@linkcode release} once.
   *
   * @throws {FileChanged} if the file has changed
   */
  async acquire(): Promise<void> {
    this.#users++;
    const handle = this.#handle ??= this.#open();
    try {
      await handle;
    } catch (error) {
      this.#users--;
      // Another reader may have retried meanwhile.
      if (this.#handle === handle) this.#handle = null;
      throw error;
    }
  }

  /** The last reader closes the file. */
  release(): void {
    if (--this.#users > 0) return;
    const handle = this.#handle;
    this.#handle = null;
    // All bytes were read, so an error of close() does not matter.
    handle?.then((opened) => opened.close()).catch(() => {});
  }

  /** The descriptor; only between {@linkcode acquire} and {@linkcode release}. */
  get fd(): number {
    return this.#fd;
  }

  /**
   * Whether the open file is unchanged. A write sets the time before the first byte, so a check after a read misses
   * nothing. Synchronous, because fstat costs less than another thread.
   */
  isUnchanged(): boolean {
    const { size, mtimeMs } = fstatSync(this.#fd);
    return size === this.size && mtimeMs === this.#mtimeMs;
  }

  /**
   * Reads a whole range; only between {@linkcode acquire} and {@linkcode release}.
   *
   * @throws {FileChanged} if the file has changed
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

/** 1,000 stalled clients hold 22 MiB, each further one 16 KiB. */
const pieces = new BufferPool({ largeMax: 128 });

/**
 * Streams a range of an acquired version, which it releases at its end, failure or cancellation. Fails with
 * {@linkcode FileChanged} if the file changes; reads nothing ahead of the client.
 */
export class FileSource extends Source {
  readonly #version: FileVersion;
  readonly #end: number;
  #at: number;
  #piece: Uint8Array | null = null;
  /** The length of the piece, and the bytes read so far. */
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
    // A running read closes the descriptor when it is done.
    if (this.#sink === null) this.#close();
  }

  #read(): void {
    const piece = this.#piece as Uint8Array;
    const { fd } = this.#version;
    read(fd, piece, this.#filled, this.#wanted - this.#filled, this.#at + this.#filled, this.#arrived);
  }

  // One closure for all pieces.
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
