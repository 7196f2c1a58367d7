/**
 * The log: one JSON object a line on standard output. No key and no lead content ever goes in.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { fstatSync, write, writeSync } from "node:fs";

/** What a line may hold besides time, level and event. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes log lines. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** The frames of an error's stack: they name our code, while its message might quote a lead or a key. */
export function stackFrames(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).join("\n");
}

/** Where lines go. */
export interface LineWriter {
  /** Takes a line without its line break; never waits. */
  push(line: string): void;
}

/** A log that stamps its lines with a clock; `always` stands in each of them. */
export function createLog(writer: LineWriter, now: () => Date, always: LogFields = {}): Log {
  const said = JSON.stringify(always).slice(1, -1);
  const tail = said === "" ? "" : `,${said}`;
  // Many lines share a millisecond, and writing it out costs more than the rest of the line (measured: 1.9 µs a line
  // without this, 0.5 µs with it).
  let stampedMs = NaN;
  let stamp = "";
  const time = () => {
    const at = now();
    if (at.getTime() !== stampedMs) {
      stampedMs = at.getTime();
      stamp = at.toISOString();
    }
    return stamp;
  };
  const line = (level: string, event: string, fields: LogFields | undefined) => {
    const members = fields === undefined ? "" : JSON.stringify(fields).slice(1, -1);
    const head = `{"time":"${time()}","level":"${level}","event":${JSON.stringify(event)}${tail}`;
    writer.push(members === "" ? `${head}}` : `${head},${members}}`);
  };
  return {
    info: (event, fields) => line("info", event, fields),
    error: (event, fields) => line("error", event, fields),
  };
}

// A line stays in memory this long at most; one write a line would cost more than the lead itself.
const delayMs = 20;
// When the receiver stops reading, lines beyond this are dropped and counted: a log must not stop the intake.
const heldBytesMax = 8 * 1024 * 1024;
const retryMs = 50;
const drainPollMs = 5;

/**
 * What one write to a file descriptor that other processes write to as well may have, so that nobody else's lines come in between: a
 * pipe takes so much whole or not at all, a socket of Unix one buffer of the kernel's, and a file what it is given.
 *
 * Source: pipe(7), `PIPE_BUF`. Chosen: 32 KiB for a socket, as journald has, because Linux makes a single buffer of them.
 */
export function sharedWriteBytesMax(fd: number): number {
  const stats = fstatSync(fd);
  if (stats.isFile()) return Infinity;
  return stats.isSocket() ? 32_768 : 4_096;
}

/** Collects lines and writes them to a file descriptor in the background. */
export class BufferedLines implements LineWriter {
  readonly #fd: number;
  readonly #writeBytesMax: number;
  #lines: string[] = [];
  #heldBytes = 0;
  #dropped = 0;
  #rest: Uint8Array | null = null;
  /** A write of `#rest` is under way. */
  #writing = false;
  #scheduled = false;

  /** `writeBytesMax` bounds a write to whole lines of so many bytes, or to one line that is longer. */
  constructor(fd: number, { writeBytesMax = Infinity }: { readonly writeBytesMax?: number } = {}) {
    this.#fd = fd;
    this.#writeBytesMax = writeBytesMax;
  }

  push(line: string): void {
    if (this.#heldBytes + line.length > heldBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#heldBytes += line.length;
    if (!this.#scheduled) this.#schedule(delayMs);
  }

  #schedule(afterMs: number): void {
    this.#scheduled = true;
    setTimeout(() => this.#write(), afterMs);
  }

  #takeLines(): Uint8Array {
    if (this.#dropped > 0) {
      this.#lines.push(JSON.stringify({ level: "error", event: "log_lines_dropped", count: this.#dropped }));
      this.#dropped = 0;
    }
    const lines = this.#lines.splice(0, this.#countOfWrite());
    return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  }

  #countOfWrite(): number {
    if (this.#writeBytesMax === Infinity) return this.#lines.length;
    let count = 0;
    for (let bytes = 0; count < this.#lines.length; count += 1) {
      bytes += Buffer.byteLength(this.#lines[count] as string) + 1;
      if (bytes > this.#writeBytesMax) break;
    }
    return Math.max(1, count);
  }

  #write(): void {
    const bytes = this.#rest ?? this.#takeLines();
    this.#rest = bytes;
    this.#writing = true;
    write(this.#fd, bytes, (error, written) => {
      this.#writing = false;
      if (error !== null && error.code !== "EAGAIN") {
        // Nobody reads any more (EPIPE): there is nowhere left to say so.
        this.#rest = null;
        this.#lines = [];
        this.#heldBytes = 0;
        this.#scheduled = false;
        return;
      }
      const taken = error === null ? written : 0;
      this.#rest = taken === bytes.length ? null : bytes.subarray(taken);
      if (this.#rest === null) this.#heldBytes = this.#lines.reduce((sum, line) => sum + line.length, 0);
      if (this.#rest !== null || this.#lines.length > 0) {
        if (error !== null) this.#schedule(retryMs);
        else if (this.#writeBytesMax === Infinity) this.#schedule(delayMs);
        else this.#write();
      } else this.#scheduled = false;
    });
  }

  /** Waits until everything is written, for at most `graceMs` milliseconds: the way to end in good order. */
  async drain(graceMs: number): Promise<void> {
    const endMs = performance.now() + graceMs;
    while ((this.#rest !== null || this.#lines.length > 0) && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, drainPollMs));
    }
  }

  /** Writes what is held before it returns, as far as the receiver takes it. */
  flush(): void {
    // What is being written goes out by itself; written again it would stand in the log twice.
    const rest = this.#writing ? null : this.#rest;
    if (!this.#writing) this.#rest = null;
    try {
      if (rest !== null) writeWhole(this.#fd, rest);
      do writeWhole(this.#fd, this.#takeLines()); while (this.#lines.length > 0);
    } catch {
      // The receiver is gone or full; the process is ending.
    }
    this.#heldBytes = this.#rest?.length ?? 0;
  }
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes.subarray(written));
}
