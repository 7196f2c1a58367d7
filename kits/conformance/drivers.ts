/**
 * Speaks the driver protocol with a kit's driver.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** A line of a driver, as far as the protocol says. */
export interface Reply {
  readonly id: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
  readonly waits_ms?: readonly unknown[];
  readonly text?: string;
  /** The line as it came. */
  readonly line: string;
}

/** A line for a driver, without its id. */
export type Line = Readonly<Record<string, unknown>>;

/** What the environment of a driver is, beyond what it needs to run at all. */
export type Environment = Readonly<Record<string, string>>;

/** Drivers that are programs of Node run on the one that runs this. */
const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`;

/**
 * Builds a kit's driver by starting it without input, at whose end it exits. A build may wait for another one's lock for
 * longer than for an answer, so it is apart from them and has no time-out.
 *
 * @throws {Error} when the driver cannot be built
 */
export async function buildDriver(kitFolder: string): Promise<void> {
  const child = spawn(programOf(kitFolder), [], {
    cwd: kitFolder,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code, signal] = await once(child, "close");
  if (code !== 0) throw new Error(`Building the driver in ${kitFolder} ended with ${code ?? signal}`);
}

function programOf(kitFolder: string): string {
  const program = join(kitFolder, "conformance/run");
  if (!existsSync(program)) throw new Error(`There is no ${program}`);
  return program;
}

/** The process of a driver that is built. */
export class Driver {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, { settle: (reply: Reply) => void; reject: (error: Error) => void }>();
  readonly #exit: Promise<number | null>;
  #lastId = 0;
  #stderr = "";
  #strays = "";
  #rest = "";
  #gone: Error | undefined;

  /** Starts `conformance/run` in a kit's folder. */
  constructor(kitFolder: string, environment: Environment = {}) {
    // Neither a proxy nor a key of whoever runs this.
    const inherited = Object.entries(process.env).filter(([name]) => !/^LEADS_|_proxy$/i.test(name));
    this.#child = spawn(programOf(kitFolder), [], {
      cwd: kitFolder,
      env: {
        ...Object.fromEntries(inherited),
        PATH: path,
        DRIVER_BUILT: "1",
        ...environment,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const { stdin, stdout, stderr } = this.#child;
    stdin?.on("error", () => {});
    stderr?.setEncoding("utf8").on("data", (text: string) => this.#stderr += text);
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      // Not readline, for which a line ends at U+2028, too.
      const lines = `${this.#rest}${text}`.split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
    });
    this.#exit = new Promise((settle) => {
      this.#child.once("error", (error) => this.#end(null, settle, error.message));
      this.#child.once("close", (code, signal) => this.#end(code, settle, `it ended with ${code ?? signal}`));
    });
  }

  /** All that it wrote on standard error, and on standard output beside its answers. */
  get said(): string {
    return this.#stderr + this.#strays + this.#rest;
  }

  /**
   * Sends a line and waits for its answer.
   *
   * @throws {Error} when the process ends, or answers nothing within the time
   */
  ask(line: Line, withinMs: number): Promise<Reply> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    this.#lastId += 1;
    const id = `c${this.#lastId}`;
    const answer = new Promise<Reply>((settle, reject) => this.#waiting.set(id, { settle, reject }));
    this.#child.stdin?.write(`${JSON.stringify({ id, ...line })}\n`);
    const timer = setTimeout(
      () => this.#waiting.get(id)?.reject(new Error(`no answer from the driver in ${withinMs / 1000} s`)),
      withinMs,
    );
    return answer.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(id);
    });
  }

  /** Ends its input and returns how it ended; `null` for a signal. It is killed when it does not end. */
  async close(): Promise<number | null> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 30_000);
    const code = await this.#exit;
    clearTimeout(timer);
    return code;
  }

  #read(line: string): void {
    let reply: Reply;
    try {
      reply = { ...JSON.parse(line), line };
    } catch {
      this.#strays += `${line}\n`;
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) this.#strays += `${line}\n`;
    else waiting.settle(reply);
  }

  #end(code: number | null, settle: (code: number | null) => void, why: string): void {
    const last = this.#stderr.trim().split("\n").slice(-5).join("\n");
    this.#gone = new Error(`The driver is gone: ${why}${last === "" ? "" : `\n${last}`}`);
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    settle(code);
  }
}
