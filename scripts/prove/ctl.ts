/**
 * The operator's command of the tree that is proved, kept running: starting it anew for each command costs a second.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const script = `
  import { createInterface } from "node:readline";
  import { runCtl } from "./src/ctl/main.ts";
  const findDatabaseUrl = () => process.env.DATABASE_URL;
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
      ...{ cwd: tree, env: { ...process.env, DATABASE_URL: databaseUrl } },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Returns what it printed; throws unless its exit status is 0. */
  async run(...words: string[]): Promise<string> {
    this.#child.stdin.write(`${JSON.stringify(words)}\n`);
    for (let text = "";;) {
      const { value = "ended without a word", done } = await this.#lines.next();
      if (value === "ended 0") return text;
      if (done || value.startsWith("ended ")) throw new Error(`ctl ${words.join(" ")}: ${value} ${text}`);
      text += value;
    }
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
