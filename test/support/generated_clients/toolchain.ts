/**
 * Runs the tools of other languages.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The folder with what the clients are made of. */
export const sources = fileURLToPath(new URL("../../generated_clients/", import.meta.url));

/** A command and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

// Nothing here runs for as long as the better compiler takes.
const shortJava = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

// Compiling Go's generator from nothing takes most of a minute of processor.
const timeoutMs = 8 * 60_000;

/**
 * Runs a command to its end and returns its standard output.
 *
 * @throws {Error} with all that it said, when it fails
 */
export function run(
  [program, ...args]: Command,
  { cwd, env }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise((settle, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", JAVA_TOOL_OPTIONS: shortJava, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) settle(stdout);
      else reject(new Error(`${program} ${args.join(" ")}: ${code ?? signal}\n${stdout}${stderr}`));
    });
  });
}
