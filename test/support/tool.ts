/** Runs programs of other languages. */

import { spawn } from "node:child_process";
import process from "node:process";
import { collect } from "./output.ts";

/** A command and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/** The environment of a command. */
export interface ToolOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the command has only `PATH` and `env`, like a reader's first try. */
  readonly isBare?: true;
  /** Standard input; empty by default. */
  readonly input?: string;
}

/** The output and exit code of a command. */
export interface Ran {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

// Compiling dependencies takes a minute or two, and ten times longer on a slow machine.
const timeoutMs = 9 * 60_000;

/** Runs a command, whatever its exit code. */
export async function runTool(
  [program, ...args]: Command,
  { cwd, env, isBare, input = "" }: ToolOptions,
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd,
    env: { ...(isBare ? { PATH: process.env.PATH } : process.env), NO_COLOR: "1", ...env },
    timeout: timeoutMs,
  });
  const { output, ended } = collect(child);
  // A command that exits without reading its input reports by its exit code.
  child.stdin.on("error", () => {}).end(input);
  const code = await ended;
  return { code, ...output };
}

/**
 * Runs a command that must succeed and returns its standard output.
 *
 * @throws {Error} with the whole output, when it fails
 */
export async function mustRun(command: Command, options: ToolOptions): Promise<string> {
  const { code, stdout, stderr } = await runTool(command, options);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${code}\n${stdout}${stderr}`);
  return stdout;
}
