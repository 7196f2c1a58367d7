/** A folder of files to serve, and requests for them. */

import { Buffer } from "node:buffer";
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../folder.ts";
import { type Answer, ask, get, within } from "./echo.ts";

/** A folder in a place of its own, so that there is something beside it; it goes with the tests of the file. */
export function makeFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = join(temporaryFolder("static"), "site");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) put(folder, name, content);
  return folder;
}

/** Writes a file, and the folders on the way to it; in place when it is there. */
export function put(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Asks for a path with header lines. */
export function read(port: number, path: string, ...lines: string[]): Promise<Answer> {
  return ask(port, get(path, ...lines));
}

/** The headers of a HEAD. */
export function head(port: number, path: string, ...lines: string[]): Promise<Answer> {
  return ask(port, get(path, ...lines).replace("GET", "HEAD"), { isHead: true });
}

/** A response that is taken when the test wants it. */
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

  /** Asks for a path, takes the first bytes of the answer, and then no more. */
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

  /** Takes all that comes until the connection is closed, and gives the body. */
  async rest(): Promise<Buffer> {
    this.#socket.on("data", (chunk: Buffer) => this.#chunks.push(chunk)).resume();
    await within(this.#closed, "end of the download", 20_000);
    const all = Buffer.concat(this.#chunks);
    return all.subarray(all.indexOf("\r\n\r\n") + 4);
  }

  /** Goes away. */
  leave(): void {
    this.#socket.resetAndDestroy();
  }
}

/** Bytes that differ from place to place. */
export function patterned(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let index = 0, word = seed; index < words.length; index++) {
    word = Math.imul(word, 1_664_525) + 1_013_904_223 >>> 0;
    words[index] = word;
  }
  return new Uint8Array(words.buffer, 0, length);
}

/** The files that a process has open, by Linux's account. */
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
