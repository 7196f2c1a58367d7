/** Creates a folder of files and requests them. */

import { Buffer } from "node:buffer";
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../folder.ts";
import { type Answer, ask, get, within } from "./echo.ts";

/** Creates a folder with siblings; it is removed after the tests of the file. */
export function makeFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = join(temporaryFolder("static"), "site");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) put(folder, name, content);
  return folder;
}

/** Writes a file in place, and its parent folders. */
export function put(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Sends a GET with these header lines. */
export function read(port: number, path: string, ...lines: string[]): Promise<Answer> {
  return ask(port, get(path, ...lines));
}

/** Returns the response to a HEAD. */
export function head(port: number, path: string, ...lines: string[]): Promise<Answer> {
  return ask(port, get(path, ...lines).replace("GET", "HEAD"), { isHead: true });
}

/** A response that the test reads when it wants. */
export class Download {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.on("error", () => {}).once("close", () => resolve());
    });
  }

  /** Sends a GET, reads the first bytes of the response and pauses. */
  static async begin(port: number, path: string): Promise<Download> {
    const socket = connect({ port, host: "127.0.0.1" });
    const download = new Download(socket);
    socket.write(get(path, "Connection: close"));
    await within(
      new Promise<void>((resolve) => {
        socket.once("data", (chunk: Buffer) => {
          socket.pause();
          download.#chunks.push(chunk);
          resolve();
        });
      }),
      "first bytes",
    );
    return download;
  }

  /** Reads until the connection closes and returns the body. */
  async rest(): Promise<Buffer> {
    this.#socket.on("data", (chunk: Buffer) => this.#chunks.push(chunk)).resume();
    await within(this.#closed, "end of the download", 20_000);
    const all = Buffer.concat(this.#chunks);
    return all.subarray(all.indexOf("\r\n\r\n") + 4);
  }

  /** Resets the connection. */
  leave(): void {
    this.#socket.resetAndDestroy();
  }
}

/** Returns bytes that differ from place to place. */
export function patterned(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let index = 0, word = seed; index < words.length; index++) {
    word = Math.imul(word, 1_664_525) + 1_013_904_223 >>> 0;
    words[index] = word;
  }
  return new Uint8Array(words.buffer, 0, length);
}

/** Returns the files that a process has open, from Linux's /proc. */
export function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      // Closed since the list was read.
      return [];
    }
  });
}
