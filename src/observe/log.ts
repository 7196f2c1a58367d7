/**
 * The log: one JSON object a line on standard output. No key and no lead content ever goes in.
 *
 * @module
 */

import { write, writeSync } from "node:fs";

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

/** A log that stamps its lines with a clock. */
export function createLog(writer: LineWriter, now: () => Date): Log {
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
    const members = fields === undefined ? "" : escapeUnseen(JSON.stringify(fields).slice(1, -1));
    const head = `{"time":"${time()}","level":"${level}","event":${JSON.stringify(event)}`;
    writer.push(members === "" ? `${head}}` : `${head},${members}}`);
  };
  return {
    info: (event, fields) => line("info", event, fields),
    error: (event, fields) => line("error", event, fields),
  };
}

/** JSON leaves characters as they are that turn text around on a terminal, hide in it, or break its line. */
function escapeUnseen(json: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => character.split("").map(escape).join(""));
}

// A line stays in memory this long at most; one write a line would cost more than the lead itself.
const delayMs = 20;
// When the receiver stops reading, lines beyond this are dropped and counted: a log must not stop the intake.
const heldBytesMax = 8 * 1024 * 1024;
const retryMs = 50;
const drainPollMs = 5;

/** Collects lines and writes them to a file descriptor in the background. */
export class BufferedLines implements LineWriter {
  readonly #fd: number;
  #lines: string[] = [];
  #heldBytes = 0;
  #dropped = 0;
  #rest: Uint8Array | null = null;
  /** A write of `#rest` is under way. */
  #writing = false;
  #scheduled = false;

  constructor(fd: number) {
    this.#fd = fd;
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
    const lines = this.#lines.splice(0);
    return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
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
        this.#schedule(error === null ? delayMs : retryMs);
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
