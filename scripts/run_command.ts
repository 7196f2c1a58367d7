/** Runs a command of `npm run` that takes no arguments. */

import { ConfigError } from "../src/settings/reader.ts";

/**
 * Prints `usage` for `--help`, or else runs the command and prints the message of an error. The exit status is 1 after a
 * failure, and 2 for an argument or invalid settings.
 */
export async function runCommand(usage: string, run: () => Promise<void>): Promise<void> {
  const [argument] = process.argv.slice(2);
  if (argument === "--help" || argument === "-h") return console.log(usage);
  if (argument !== undefined) {
    console.error(`Unknown argument: ${argument}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }
  try {
    await run();
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = error instanceof ConfigError ? 2 : 1;
  }
}
