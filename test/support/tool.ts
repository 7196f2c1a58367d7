/** Runs programs of other languages to their end. */

import { spawn } from "node:child_process";
import process from "node:process";

/** A command and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/** Where a command runs, and with what. */
export interface ToolOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Standard input; empty unless it is given. */
  readonly input?: string;
}

/** How a command ended. */
export interface Ran {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

// Compiling dependencies from nothing takes a minute or two, and most of ten on a slow machine.
const timeoutMs = 9 * 60_000;

/** Runs a command, whatever comes of it. */
export function runTool([program, ...args]: Command, { cwd, env, input = "" }: ToolOptions): Promise<Ran> {
  return new Promise((settle, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", ...env },
      timeout: timeoutMs,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.once("error", reject);
    child.once("close", (code, signal) => settle({ code: code ?? signal, stdout, stderr }));
    // What has ended before it read anything says so by its exit code.
    child.stdin.on("error", () => {}).end(input);
  });
}

/**
 * Runs a command that must succeed, and returns what it printed.
 *
 * @throws {Error} with all that it said, when it fails
 */
export async function mustRun(command: Command, options: ToolOptions): Promise<string> {
  const { code, stdout, stderr } = await runTool(command, options);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${code}\n${stdout}${stderr}`);
  return stdout;
}
