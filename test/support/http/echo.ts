/** Starts the echo app on either runtime and exchanges bytes with it. Every wait has a deadline. */

import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import process from "node:process";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Access } from "#src/http/options.ts";
import { type AppEvent, type Settings, startEcho } from "./echo_app.ts";
import { atEnd } from "../at_end.ts";

const patienceMs = 30_000;
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Where the app runs: in this process, or as a program on Deno. */
export type Place = "node" | "deno";

/** Both places, for tests that hold on each. */
export const places: readonly Place[] = ["node", "deno"];

/** Where the app runs when it needs a separate process on Node too. */
export type OwnPlace = Place | "node process";

const commands: Readonly<Record<Exclude<OwnPlace, "node">, readonly [string, ...string[]]>> = {
  "deno": [join(root, "node_modules/.bin/deno"), "run", "-A", "--no-check"],
  "node process": [process.execPath],
};

/** A running echo app. */
export interface App {
  readonly port: number;
  /** The id of its process. */
  readonly pid: number;
  /** Removes and returns the first event of this name, and waits for it if there is none. */
  next(name: AppEvent["event"]): Promise<AppEvent>;
  access(fits?: (access: Access) => boolean): Promise<Access>;
  readonly events: AppEvent[];
  /** Stops the app; returns the exit code of a separate process. */
  close(graceMs?: number): Promise<number | null | void>;
}

/** Starts the echo app; it ends with the file at the latest. */
export async function startApp(place: OwnPlace, settings: Settings = {}): Promise<App> {
  const events: AppEvent[] = [];
  let wake: () => void = () => {};
  const report = (event: AppEvent): void => {
    events.push(event);
    wake();
  };
  const take = async (fits: (event: AppEvent) => boolean): Promise<AppEvent> => {
    const untilMs = Date.now() + patienceMs;
    while (true) {
      const index = events.findIndex(fits);
      if (index !== -1) return events.splice(index, 1)[0] as AppEvent;
      await within(new Promise<void>((resolve) => wake = resolve), "event", untilMs - Date.now());
    }
  };
  const next = (name: AppEvent["event"]) => take(({ event }) => event === name);
  const access = async (fits: (access: Access) => boolean = () => true): Promise<Access> => {
    const found = await take((event) => event.event === "access" && fits(event.access));
    return (found as Extract<AppEvent, { event: "access" }>).access;
  };
  if (place === "node") {
    const listener = await startEcho(settings, report);
    const close = (graceMs = 0) => within(listener.close(graceMs), "close");
    atEnd(close);
    return { port: listener.port, pid: process.pid, events, next, access, close };
  }
  const { port, child } = await spawnApp(commands[place], settings, report);
  const close = async () => {
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    return await within(exit, "exit of the app");
  };
  return { port, pid: child.pid as number, events, next, access, close };
}

async function spawnApp(
  [command, ...args]: readonly [string, ...string[]],
  settings: Settings,
  report: (event: AppEvent) => void,
): Promise<{ port: number; child: ChildProcess }> {
  const child = spawn(
    command,
    [...args, join(root, "test/support/http/echo_app.ts"), JSON.stringify(settings)],
    { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  );
  atEnd(() => child.kill("SIGKILL"));
  const port = await within(
    new Promise<number>((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const event = parseLine(line, child);
        if (event === null) return;
        if (event.event === "listening") resolve(event.port);
        else report(event);
      });
    }),
    "start of the app",
    20_000,
  );
  return { port, child };
}

function parseLine(
  line: string,
  child: ChildProcess,
): AppEvent | { event: "listening"; port: number } | null {
  try {
    return JSON.parse(line);
  } catch (error) {
    // The last line of a stopped app may be incomplete.
    if (child.killed) return null;
    throw error;
  }
}

/** Rejects when `promise` takes longer. */
export async function within<T>(promise: Promise<T>, what: string, boundMs = patienceMs): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No ${what} within ${boundMs} ms`)), boundMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A response as received. */
export interface Answer {
  readonly status: number;
  /** By lower-case name, one character per byte. */
  readonly headers: Readonly<Record<string, string>>;
  /** The status line and the header lines. */
  readonly head: string;
  readonly body: Buffer;
}

/** A connection for writing bytes and reading HTTP/1 responses. */
export class Wire {
  readonly socket: Socket;
  #input = Buffer.alloc(0);
  #isEnded = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.#wake();
    });
    const ended = () => {
      this.#isEnded = true;
      this.#wake();
    };
    socket.on("end", ended).on("close", ended).on("error", ended);
  }

  /**
   * Connects, optionally with TLS and HTTP/1.1 by ALPN. With `sendsOn` it stays open for writing after the server
   * has closed its side.
   */
  static async open(
    port: number,
    options: { tls?: boolean; localAddress?: string; sendsOn?: boolean } = {},
  ): Promise<Wire> {
    const { localAddress, sendsOn: allowHalfOpen = false } = options;
    const to = {
      port,
      host: "127.0.0.1",
      allowHalfOpen,
      ...(localAddress === undefined ? {} : { localAddress }),
    };
    const socket = options.tls
      ? connectTls({ ...to, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
      : connect(to);
    const wire = new Wire(socket);
    await within(
      new Promise((resolve, reject) => {
        socket.once(options.tls ? "secureConnect" : "connect", resolve);
        socket.once("error", reject);
      }),
      "connection",
    );
    return wire;
  }

  /** Writes bytes; text as one byte per character. */
  send(...parts: (string | Uint8Array)[]): void {
    for (const part of parts) {
      this.socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
    }
  }

  /** Reads the next response. `isHead`: it belongs to a HEAD and has no body. */
  async answer(options: { isHead?: boolean } = {}): Promise<Answer> {
    const head = (await this.#until(() => this.#find("\r\n\r\n"))).toString("latin1");
    const [statusLine = "", ...lines] = head.trimEnd().split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const status = Number(statusLine.split(" ")[1]);
    const isEmpty = options.isHead || status === 204 || status === 304 || status < 200;
    const body = isEmpty ? Buffer.alloc(0) : await this.#body(headers);
    return { status, headers, head, body };
  }

  /** Waits until the server has closed the connection and returns the unread bytes. */
  closed(): Promise<Buffer> {
    return this.#until(() => this.#isEnded ? this.#input.byteLength : null);
  }

  async #body(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const length = headers["content-length"];
    if (length !== undefined) return await this.#take(Number(length));
    if (headers["transfer-encoding"] !== "chunked") return await this.closed();
    const chunks: Buffer[] = [];
    while (true) {
      const size = Number.parseInt((await this.#until(() => this.#find("\r\n"))).toString(), 16);
      const chunk = await this.#take(size + 2);
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  #take(length: number): Promise<Buffer> {
    return this.#until(() => this.#input.byteLength >= length ? length : null);
  }

  #find(mark: string): number | null {
    const index = this.#input.indexOf(mark);
    return index === -1 ? null : index + mark.length;
  }

  async #until(length: () => number | null): Promise<Buffer> {
    const untilMs = Date.now() + patienceMs;
    while (true) {
      const found = length();
      if (found !== null) {
        const taken = this.#input.subarray(0, found);
        this.#input = this.#input.subarray(found);
        return taken;
      }
      if (this.#isEnded) {
        throw new Error(`The connection ended after ${JSON.stringify(this.#input.toString())}`);
      }
      await within(new Promise<void>((resolve) => this.#wake = resolve), "bytes", untilMs - Date.now());
    }
  }
}

/** Sends one request on a new connection. `text` is the whole request, one character per byte. */
export async function ask(port: number, text: string, options: { isHead?: boolean } = {}): Promise<Answer> {
  const wire = await Wire.open(port);
  wire.send(text);
  const answer = await wire.answer(options);
  wire.socket.destroy();
  return answer;
}

/** Returns a GET with additional header lines. */
export function get(target: string, ...lines: string[]): string {
  return [`GET ${target} HTTP/1.1`, "Host: one.test", ...lines, "", ""].join("\r\n");
}

/** Returns a POST with a body and its length. */
export function post(target: string, body: string, ...lines: string[]): string {
  const head = [
    `POST ${target} HTTP/1.1`,
    "Host: one.test",
    `Content-Length: ${body.length}`,
    ...lines,
    "",
    "",
  ];
  return head.join("\r\n") + body;
}

/** Returns the JSON of a response. */
export function parse(answer: Answer): Record<string, unknown> {
  return JSON.parse(answer.body.toString());
}
