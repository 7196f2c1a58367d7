/** An immutable version of a file, which is read whole or streamed. */

import { type ByteRange, strongTag } from "../conditional.ts";
import { type Sink, Source } from "../source.ts";
import { createHash } from "node:crypto";
import { type BigIntStats, constants, fstatSync, read } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Reuses read buffers; fresh ones left 260 MiB resident with 1,000 stalled clients (Node 24). */
class BufferPool {
  readonly #large: Uint8Array[] = [];
  readonly #small: Uint8Array[] = [];
  #largeInUse = 0;

  acquire(bytesLeft: number): Uint8Array {
    if (bytesLeft <= smallBytes || this.#largeInUse >= largeMax) {
      return this.#small.pop() ?? new Uint8Array(smallBytes);
    }
    this.#largeInUse++;
    return this.#large.pop() ?? new Uint8Array(largeBytes);
  }

  /** Call it only when no pending write references the buffer. */
  release(buffer: Uint8Array): void {
    if (buffer.length === largeBytes) this.#largeInUse--;
    const free = buffer.length === largeBytes ? this.#large : this.#small;
    if (free.length < freeMax) free.push(buffer);
  }
}

// A client must read each chunk within the stall timeout: with 20 s, at 3 KB/s for large and 0.8 KB/s for small chunks.
const largeBytes = 64 * 1024;
const smallBytes = 16 * 1024;
/** The maximum number of large buffers in use; 1,000 stalled clients then hold 22 MiB, and each further one 16 KiB. */
const largeMax = 128;
const freeMax = 1_024;

/** Thrown if a file changes during an operation, which can be repeated. */
export class FileChanged extends Error {
  override readonly name = "FileChanged";
}

/** The flags for opening a file; a FIFO or device must not block. Windows lacks the last two. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const hashChunkBytes = 256 * 1024;
/**
 * An upper bound on the granularity of file timestamps; Linux has 100 to 1,000 ticks per second. A version is read only
 * after one tick without writes, so that every later change has a later timestamp.
 */
const tickMs = 20;
const settleAttemptsMax = 50;

/** Throws `FileChanged` instead of the error from an operation on a file that no longer exists. */
export async function requireExisting<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new FileChanged("The file was deleted", { cause: error });
  }
}

export function openFile(path: string): Promise<FileHandle> {
  return open(path, flags);
}

/** Returns an open file's metadata after one tick without writes; throws `FileChanged` if it keeps changing. */
export async function settledStat(handle: FileHandle): Promise<BigIntStats> {
  for (let attempt = 0; attempt < settleAttemptsMax; attempt++) {
    const stats = await handle.stat({ bigint: true });
    const ageMs = Date.now() - Number(stats.mtimeNs / 1_000_000n);
    // A future timestamp was set explicitly and does not date the last write.
    if (ageMs >= tickMs || ageMs < -tickMs || !stats.isFile()) return stats;
    await new Promise((resolve) => setTimeout(resolve, tickMs - Math.max(0, ageMs)));
  }
  throw new FileChanged("The file is being written");
}

export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.ctimeNs === other.ctimeNs &&
    hasSameBytes(one, other);
}

/** Whether a file's size and mtime are unchanged; its ctime also changes when it is unlinked. */
function hasSameBytes(one: BigIntStats, other: BigIntStats): boolean {
  return one.size === other.size && one.mtimeNs === other.mtimeNs;
}

/** A version of a file and its strong entity tag. */
export class FileVersion {
  /** The path, without symbolic links below the served folder. */
  readonly path: string;
  readonly stats: BigIntStats;
  readonly size: number;
  readonly modifiedMs: number;
  readonly tag: string;
  #readers = 0;
  #fd = -1;
  /** The open file's mtime, with fractions of a millisecond. */
  #mtimeMs = 0;
  #handle: Promise<FileHandle> | null = null;

  private constructor(path: string, stats: BigIntStats, tag: string) {
    this.path = path;
    this.stats = stats;
    this.size = Number(stats.size);
    this.modifiedMs = Number(stats.mtimeNs / 1_000_000n);
    this.tag = tag;
  }

  /** Hashes an open file, which the caller closes; throws `FileChanged` if it changes meanwhile. */
  static async read(path: string, handle: FileHandle, stats: BigIntStats): Promise<FileVersion> {
    const hash = createHash("sha256");
    const size = Number(stats.size);
    const buffer = new Uint8Array(Math.min(size, hashChunkBytes));
    for (let at = 0; at < size;) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - at), at);
      if (bytesRead === 0) throw new FileChanged(truncated);
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    if (!hasSameBytes(stats, await handle.stat({ bigint: true }))) {
      throw new FileChanged(changedDuringRead);
    }
    return new FileVersion(path, stats, strongTag(hash.digest()));
  }

  /**
   * Opens the file for a reader, which must call {@linkcode release} once unless this throws. All readers share one
   * descriptor. Throws `FileChanged` if the file has changed.
   */
  async acquire(): Promise<void> {
    this.#readers++;
    const handle = this.#handle ??= this.#open();
    try {
      await handle;
    } catch (error) {
      this.#readers--;
      // Another reader may have opened the file in the meantime.
      if (this.#handle === handle) this.#handle = null;
      throw error;
    }
  }

  /** Closes the file after its last reader. */
  release(): void {
    if (--this.#readers > 0) return;
    const handle = this.#handle;
    this.#handle = null;
    // Nothing was written, so an error from close() is harmless.
    handle?.then((opened) => opened.close()).catch(() => {});
  }

  /** Valid only between {@linkcode acquire} and {@linkcode release}. */
  get fd(): number {
    return this.#fd;
  }

  /**
   * Whether the open file is unchanged. A write updates the mtime before it changes a byte, so a check after a read
   * misses no change. The check is synchronous, because `fstat` costs less than switching to another thread.
   */
  isUnchanged(): boolean {
    const { size, mtimeMs } = fstatSync(this.#fd);
    return size === this.size && mtimeMs === this.#mtimeMs;
  }

  /** Call it between {@linkcode acquire} and {@linkcode release}; throws `FileChanged` if the file has changed. */
  async bytes({ start, end }: ByteRange): Promise<Uint8Array> {
    const handle = await (this.#handle as Promise<FileHandle>);
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
      if (bytesRead === 0) throw new FileChanged(truncated);
      at += bytesRead;
    }
    if (!this.isUnchanged()) throw new FileChanged(changedDuringRead);
    return bytes;
  }

  async #open(): Promise<FileHandle> {
    const handle = await requireExisting(openFile(this.path));
    try {
      this.#fd = handle.fd;
      this.#mtimeMs = fstatSync(handle.fd).mtimeMs;
      if (isSame(this.stats, await handle.stat({ bigint: true }))) return handle;
      throw new FileChanged("The file was replaced");
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

const truncated = "The file was truncated";
const changedDuringRead = "The file changed while it was being read";

const buffers = new BufferPool();

/**
 * Streams a range of an acquired version without reading ahead, and releases the version at the end. Fails with
 * {@linkcode FileChanged} if the file changes.
 */
export class FileSource extends Source {
  readonly #version: FileVersion;
  readonly #end: number;
  #offset: number;
  #buffer: Uint8Array | null = null;
  /** The length of the chunk, of which `#filled` bytes have been read. */
  #chunkBytes = 0;
  #filled = 0;
  #sink: Sink | null = null;
  #hasEnded = false;

  constructor(version: FileVersion, { start, end }: ByteRange) {
    super();
    this.#version = version;
    this.#offset = start;
    this.#end = end;
  }

  next(sink: Sink): void {
    if (this.#hasEnded) return;
    this.#releaseBuffer();
    const left = this.#end - this.#offset;
    if (left === 0) {
      this.#close();
      sink.end();
      return;
    }
    this.#buffer = buffers.acquire(left);
    this.#chunkBytes = Math.min(left, this.#buffer.length);
    this.#filled = 0;
    this.#sink = sink;
    this.#read();
  }

  cancel(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // A pending read still needs the descriptor; its callback releases the version.
    if (this.#sink === null) this.#close();
  }

  #read(): void {
    const buffer = this.#buffer as Uint8Array;
    const { fd } = this.#version;
    read(
      fd,
      buffer,
      this.#filled,
      this.#chunkBytes - this.#filled,
      this.#offset + this.#filled,
      this.#onRead,
    );
  }

  // One closure for all chunks, not one per read.
  readonly #onRead = (error: unknown, bytesRead: number): void => {
    if (this.#hasEnded) return this.#close();
    this.#filled += bytesRead;
    const isChanged = bytesRead === 0 || !this.#version.isUnchanged();
    const failure = error ?? (isChanged ? new FileChanged("The file changed while it was being sent") : null);
    const sink = this.#sink as Sink;
    if (failure !== null) {
      this.#close();
      sink.fail(failure);
    } else if (this.#filled < this.#chunkBytes) {
      this.#read();
    } else {
      this.#sink = null;
      this.#offset += this.#chunkBytes;
      sink.chunk((this.#buffer as Uint8Array).subarray(0, this.#chunkBytes));
    }
  };

  #close(): void {
    this.#hasEnded = true;
    this.#sink = null;
    this.#releaseBuffer();
    this.#version.release();
  }

  #releaseBuffer(): void {
    if (this.#buffer !== null) buffers.release(this.#buffer);
    this.#buffer = null;
  }
}
