/** The log: one JSON object per line on standard output, without keys or lead content. */

import { write, writeSync } from "node:fs";

/** The members of a log line other than time, level and event. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** Returns an error's stack frames without its message, which may quote a lead or a key. */
export function stackFrames(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).join("\n");
}

/** A sink for log lines. */
export interface LineWriter {
  /** Accepts a line without a line break; never waits. */
  push(line: string): void;
}

/** Creates a log that adds the time to each line. */
export function createLog(writer: LineWriter, now: () => Date): Log {
  // With the formatted time cached per millisecond, a line takes 0.5 instead of 1.9 µs.
  let cachedMs = NaN;
  let cachedTime = "";
  const time = () => {
    const at = now();
    if (at.getTime() !== cachedMs) {
      cachedMs = at.getTime();
      cachedTime = at.toISOString();
    }
    return cachedTime;
  };
  const writeLine = (level: string, event: string, fields: LogFields | undefined) => {
    const members = fields === undefined ? "" : escapeInvisible(JSON.stringify(fields).slice(1, -1));
    const head = `{"time":"${time()}","level":"${level}","event":${JSON.stringify(event)}`;
    writer.push(members === "" ? `${head}}` : `${head},${members}}`);
  };
  return {
    info: (event, fields) => writeLine("info", event, fields),
    error: (event, fields) => writeLine("error", event, fields),
  };
}

/** Escapes invisible characters, which JSON allows but which can manipulate a terminal. */
function escapeInvisible(json: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => character.split("").map(escape).join(""));
}

// Lines are buffered, because one write per line would cost more than storing the lead.
const delayMs = 20;
// Lines beyond this limit are dropped and counted, because a stuck reader must not stop the intake.
const bufferedBytesMax = 8 * 1024 * 1024;
const retryMs = 50;
const drainPollMs = 5;

/** Buffers lines and writes them to a file descriptor in the background. */
export class BufferedLines implements LineWriter {
  readonly #fd: number;
  #lines: string[] = [];
  #bufferedBytes = 0;
  #dropped = 0;
  #unwritten: Uint8Array | null = null;
  /** Whether a write of `#unwritten` is in progress. */
  #isWriting = false;
  #isScheduled = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  push(line: string): void {
    if (this.#bufferedBytes + line.length > bufferedBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#bufferedBytes += line.length;
    if (!this.#isScheduled) this.#schedule(delayMs);
  }

  #schedule(afterMs: number): void {
    this.#isScheduled = true;
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
    const bytes = this.#unwritten ?? this.#takeLines();
    this.#unwritten = bytes;
    this.#isWriting = true;
    write(this.#fd, bytes, (error, written) => {
      this.#isWriting = false;
      if (error !== null && error.code !== "EAGAIN") {
        // These lines are lost, for example because the reader has closed the pipe (EPIPE).
        this.#unwritten = null;
        this.#lines = [];
        this.#bufferedBytes = 0;
        this.#isScheduled = false;
        return;
      }
      const writtenBytes = error === null ? written : 0;
      this.#unwritten = writtenBytes === bytes.length ? null : bytes.subarray(writtenBytes);
      if (this.#unwritten === null) {
        this.#bufferedBytes = this.#lines.reduce((sum, line) => sum + line.length, 0);
      }
      if (this.#unwritten !== null || this.#lines.length > 0) {
        this.#schedule(error === null ? delayMs : retryMs);
      } else this.#isScheduled = false;
    });
  }

  /** Waits until all lines are written, for at most `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    const endMs = performance.now() + graceMs;
    while ((this.#unwritten !== null || this.#lines.length > 0) && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, drainPollMs));
    }
  }

  /** Writes the buffered lines synchronously, as far as the reader accepts them. */
  flush(): void {
    // A write in progress completes by itself.
    const unwritten = this.#isWriting ? null : this.#unwritten;
    if (!this.#isWriting) this.#unwritten = null;
    try {
      if (unwritten !== null) writeFully(this.#fd, unwritten);
      do writeFully(this.#fd, this.#takeLines()); while (this.#lines.length > 0);
    } catch {
      // The pipe is closed or full, and the process is exiting.
    }
    this.#bufferedBytes = this.#unwritten?.length ?? 0;
  }
}

function writeFully(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes.subarray(written));
}
