/**
 * Runs ctl commands of the tested tree in one process, because each start takes a second.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const script = `
  import { createInterface } from "node:readline";
  import { runCtl } from "./src/ctl/main.ts";
  const findDatabaseUrl = () => process.env.DATABASE_URL;
  process.stderr.write = process.stdout.write.bind(process.stdout);
  const surroundings = { environment: process.env, isColored: false, findDatabaseUrl, developmentSettings: () => null };
  for await (const line of createInterface({ input: process.stdin })) {
    await runCtl([...JSON.parse(line), "--json"], surroundings);
    console.log("ended " + process.exitCode);
  }`;

/** Runs commands one after the other. */
export class Ctl {
  readonly #child;
  readonly #lines;

  constructor(tree: string, databaseUrl: string) {
    this.#child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: tree,
      env: { ...process.env, DATABASE_URL: databaseUrl },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Runs a command and returns its output; throws unless its exit code is 0. */
  async run(...args: string[]): Promise<string> {
    this.#child.stdin.write(`${JSON.stringify(args)}\n`);
    for (let text = "";;) {
      const { value = "ended without output", done } = await this.#lines.next();
      if (value === "ended 0") return text;
      if (done || value.startsWith("ended ")) throw new Error(`ctl ${args.join(" ")}: ${value} ${text}`);
      text += value;
    }
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
