/** Asks before a command does something to many events. */

import process from "node:process";
import { createInterface } from "node:readline/promises";
import { type Input, Refused, UsageError } from "./command.ts";

/** The option that answers the question in advance. */
export const yesOption = { yes: { description: "do not ask" } } as const;

/**
 * Asks a question on the terminal, unless `--yes` is given.
 *
 * @throws {UsageError} if there is no terminal to ask on
 * @throws {Refused} if the answer is not yes
 */
export async function requireYes(input: Input, question: string): Promise<void> {
  if (input.has("yes")) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${question} Without a terminal, --yes is required; nothing was changed`);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const aborted = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  const answer = await Promise.race([terminal.question(`${question} [y/N] `), aborted]);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refused("Nothing was changed");
}
