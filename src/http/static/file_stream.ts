/**
 * Sends a range of a file piece by piece, as the client takes it.
 *
 * @module
 */

import { read } from "node:fs";
import { FileChanged, type FileVersion } from "./file_version.ts";
import { BufferPool } from "./buffer_pool.ts";
import type { ByteRange } from "./range.ts";
import { type Sink, Source } from "../source.ts";

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
