/**
 * Runs `ctl`, the operator's command.
 *
 * Exit status 0: done; 1: refused, not found, failures (of a check or a route test), or the store is unavailable; 2: usage
 * error. Chosen: a value that is always invalid (a slug with a space) is a usage error; one that conflicts with the store (a
 * slug that is in use) or with a CRM recipe is refused, and so is an unusable file. Results are printed to stdout and messages
 * to stderr, also with `--json`.
 */

import { hostname, userInfo } from "node:os";
import process from "node:process";
import { auditCommands } from "./audit.ts";
import { certificatesCommands } from "./certificates.ts";
import { collisionCommands } from "./collision.ts";
import {
  type Command,
  type CommandContext,
  type Input,
  parseInput,
  Refused,
  type Reply,
  UsageError,
} from "./command.ts";
import { completionCommands } from "./completion.ts";
import { deadCommands } from "./dead.ts";
import { doctorCommands } from "./doctor.ts";
import { eraseCommands } from "./erase.ts";
import { explainFailure } from "./failure.ts";
import { findCommands } from "./find.ts";
import { formCommands } from "./form.ts";
import { keyCommands } from "./key.ts";
import { leadCommands } from "./lead.ts";
import { leadReturnCommand } from "./lead_return.ts";
import { planCommands } from "./plan.ts";
import { restoredCommands } from "./restored.ts";
import { crmCommands } from "./recipe.ts";
import { routeCommands } from "./route.ts";
import { statementCommand } from "./statement.ts";
import { campaignCommands, tenantCommands } from "./tenant.ts";
import { renderJson, safe } from "./terminal.ts";
import { vocabularyCommands } from "./vocabulary.ts";
import { databaseUrlError } from "#src/store/address.ts";
import { openAdminPool } from "#src/store/operator/admin_pool.ts";
import type { Pool } from "#src/store/pool.ts";

const commonOptions = [
  ["--json", "print one JSON document"],
  ["--help", "show this help"],
] as const;

const timeHelp = `TIME is ISO 8601 (2026-09-30, 2026-09-30T12:00Z; UTC if it has no offset) or
a duration relative to now: 30m, 2h, 7d, 2w.`;
const generalHelp =
  `Exit status: 0 done; 1 refused, not found, failed, or database unavailable; 2 usage error.
${timeHelp}

The database is the one in DATABASE_URL, or else that of the running npm start.`;

/** Formats the command's words, arguments and options on one line. */
function usageLine(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, rule]) => {
    const option = rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`;
    return rule.required === true ? option : `[${option}]${rule.isRepeatable === true ? "…" : ""}`;
  });
  const positionals = (command.positionals ?? []).map((name) =>
    name.endsWith("…") ? `${name.slice(0, -1)} [${name.slice(0, -1)}…]` : name
  );
  return ["Usage: ctl", command.words, ...positionals, ...options, "[--json]"].join(" ");
}

function commandHelp(command: Command): string {
  const options = [
    ...Object.entries(command.options ?? {}).map(([name, rule]) =>
      [rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`, rule.description] as const
    ),
    ...commonOptions,
  ];
  const paragraphs = [
    usageLine(command),
    `${command.summary}.`,
    `Options:\n${columns(options)}`,
  ];
  if (command.notes !== undefined) paragraphs.push(command.notes);
  const hasTimeOption = Object.values(command.options ?? {}).some((rule) => rule.value === "TIME");
  if (hasTimeOption) paragraphs.push(timeHelp);
  return paragraphs.join("\n\n");
}

/** Formats `ctl --help`, or, for a group such as `key`, `ctl key --help`. */
function overview(commands: readonly Command[], group?: string): string {
  const shown = group === undefined
    ? commands
    : commands.filter((command) => command.words.startsWith(`${group} `));
  const lines = shown.map((command) => [`ctl ${command.words}`, command.summary] as const);
  return [
    `Usage: ctl ${group ?? "GROUP"} COMMAND [ARGUMENTS] [OPTIONS] [--json]`,
    columns(lines),
    `ctl ${group ?? "GROUP"} COMMAND --help shows the arguments of a command.`,
    generalHelp,
  ].join("\n\n");
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

/** Returns every command, in the order in which the help lists them. */
function allCommands(context: CommandContext): readonly Command[] {
  const commands: readonly Command[] = [
    ...tenantCommands,
    ...routeCommands(context),
    ...crmCommands,
    ...campaignCommands,
    statementCommand,
    ...keyCommands,
    ...vocabularyCommands,
    ...findCommands,
    ...leadCommands(context),
    leadReturnCommand,
    ...formCommands,
    ...deadCommands,
    ...collisionCommands,
    ...planCommands,
    ...eraseCommands,
    ...auditCommands,
    ...restoredCommands,
    ...doctorCommands(context),
    ...certificatesCommands,
    ...completionCommands(() => commands),
  ];
  return commands;
}

/** The exit status and the output of the program. */
interface Outcome {
  readonly status: 0 | 1 | 2;
  readonly stdout?: string;
  readonly stderr?: string | undefined;
}

async function runCommandLine(argv: readonly string[], context: CommandContext): Promise<Outcome> {
  const commands = allCommands(context);
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const wantsHelp = options.some((argument) => argument === "--help" || argument === "-h");
  // `ctl --json key list` is accepted as `ctl key list --json`.
  const start = argv.findIndex((argument) => !argument.startsWith("-"));
  const [first, second] = start === -1 ? [] : argv.slice(start);
  const command = commands.find(({ words }) => words === first || words === `${first} ${second}`);
  if (command !== undefined) {
    if (wantsHelp) return { status: 0, stdout: commandHelp(command) };
    const count = command.words.split(" ").length;
    return await runCommand(command, argv.toSpliced(start, count), context);
  }
  const isGroup = commands.some(({ words }) => words.startsWith(`${first} `));
  const help = overview(commands, isGroup ? first : undefined);
  if (first === "help" || (wantsHelp && (first === undefined || isGroup))) return { status: 0, stdout: help };
  const unknown = isGroup ? second === undefined ? null : `${first} ${second}` : first ?? null;
  return { status: 2, stderr: unknown === null ? help : `Unknown command: ${safe(unknown)}\n\n${help}` };
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  context: CommandContext,
): Promise<Outcome> {
  try {
    const input = parseInput(command, argv);
    const run = command.prepareWithoutStore?.(input) ?? withStore(context, command, command.prepare(input));
    return toOutcome(await run(), input);
  } catch (error) {
    if (error instanceof Refused) {
      const lines = [error.message, ...error.details.map((detail) => `  ${detail}`)];
      return { status: 1, stderr: lines.map(safe).join("\n") };
    }
    if (!(error instanceof UsageError)) throw error;
    return { status: 2, stderr: `${safe(error.message)}\n${usageLine(command)}` };
  }
}

function toOutcome(reply: Reply, { json }: Input): Outcome {
  const stdout = reply.chunks !== undefined ? {} : { stdout: json ? renderJson(reply.json) : reply.text };
  return { status: reply.hasFailures === true ? 1 : 0, ...stdout, stderr: reply.warning };
}

/**
 * Returns a function that opens a pool, runs the command with it and closes it. The function throws {@linkcode Refused}
 * if the store fails.
 */
function withStore(
  context: CommandContext,
  { statementTimeoutMs }: Command,
  run: (pool: Pool) => Promise<Reply>,
): () => Promise<Reply> {
  return async () => {
    const databaseUrl = databaseAddress(context);
    const pool = openAdminPool(databaseUrl, { claimed: accountName(), statementTimeoutMs });
    try {
      const reply = await run(pool);
      for await (const chunk of reply.chunks ?? []) await print(chunk);
      return reply;
    } catch (error) {
      const explanation = explainFailure(error, databaseUrl);
      throw explanation === null ? error : new Refused(explanation, { cause: error });
    } finally {
      await pool.close();
    }
  };
}

/** Prints a text, and waits until the reader has taken it. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

/** Returns the account and the machine for the audit, because several people may share a database role. */
function accountName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // In many containers the account has no name.
    return `uid ${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

function databaseAddress({ findDatabaseUrl }: CommandContext): string {
  try {
    const databaseUrl = findDatabaseUrl();
    // An invalid URL is refused here, because later errors would print it with its password.
    const fault = databaseUrlError(databaseUrl);
    if (fault === null) return databaseUrl;
    throw new Refused(`DATABASE_URL ${fault}`);
  } catch (error) {
    const { message } = error as Error;
    const isComplete = error instanceof Refused || message.startsWith("DATABASE_URL_FILE");
    throw new Refused(isComplete ? message : `${message}; set DATABASE_URL, or run npm start`);
  }
}

/** Redacts keys that were pasted in place of another argument. */
function withoutKeys(text: string): string {
  return text.replace(/((?:lead|form)_(?:live|test)_)[0-9A-Za-z]{8,}/g, "$1…");
}

/** Runs one command line, prints its output and sets the exit status of the process. */
export async function runCtl(argv: readonly string[], context: CommandContext): Promise<void> {
  // `ctl lead list | head` closes the pipe early, which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  const outcome = await runCommandLine(argv, context);
  process.exitCode = outcome.status;
  if (outcome.stdout !== undefined) process.stdout.write(`${outcome.stdout}\n`);
  if (outcome.stderr !== undefined) process.stderr.write(`${withoutKeys(outcome.stderr)}\n`);
}
