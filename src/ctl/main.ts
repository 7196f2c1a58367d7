/**
 * Runs the operator's command.
 *
 * Exit status 0: done; 1: refused, not found, not well (doctor), or the store is away; 2: wrong usage. Chosen: a value that
 * is wrong whatever the store holds (a slug with a space) is wrong usage; what depends on the store (a
 * slug that is taken) is refused. Results go to stdout, messages to stderr, with `--json` too.
 */

import { hostname, userInfo } from "node:os";
import process from "node:process";
import { auditCommands } from "./audit.ts";
import { certificatesCommands } from "./certificates.ts";
import { collisionCommands } from "./collision.ts";
import {
  type Command,
  type Input,
  parseInput,
  Refused,
  type Reply,
  type Surroundings,
  WrongUsage,
} from "./command.ts";
import { completionCommands } from "./completion.ts";
import { deadCommands } from "./dead.ts";
import { doctorCommands } from "./doctor.ts";
import { eraseCommands } from "./erase.ts";
import { explainFailure } from "./failure.ts";
import { formCommands } from "./form.ts";
import { ipCommands, keyCommands } from "./key.ts";
import { leadCommands } from "./lead.ts";
import { planCommands, subscriptionCommands } from "./plan.ts";
import { restoredCommands } from "./restored.ts";
import { routeCommands } from "./route.ts";
import { campaignCommands, tenantChangeCommands, tenantCommands } from "./tenant.ts";
import { renderJson, safe } from "./terminal.ts";
import { vocabularyCommands } from "./vocabulary.ts";
import { addressFault } from "#src/store/address.ts";
import { openAdminPool } from "#src/store/operator/admin_pool.ts";
import type { Pool } from "#src/store/pool.ts";

const everywhere = [
  ["--json", "print one JSON document"],
  ["--help", "show this help"],
] as const;

const outro = `Exit status: 0 done; 1 refused, not found, or the database is away; 2 wrong usage.
TIME is ISO 8601 (2026-09-30, 2026-09-30T12:00Z; UTC unless it says otherwise) or
a span from now: 30m, 2h, 7d, 2w.

The database is DATABASE_URL, or else that of the npm start running here.`;

/** One line: the command's words and what it takes. */
function usageLine(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, rule]) => {
    const option = rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`;
    return rule.required === true ? option : `[${option}]${rule.several === true ? "…" : ""}`;
  });
  const positionals = (command.positionals ?? []).map((name) =>
    name.endsWith("…") ? `${name.slice(0, -1)} [${name.slice(0, -1)}…]` : name
  );
  return ["ctl", command.words, ...positionals, ...options].join(" ");
}

/** What a wrong usage of the command prints. */
function usage(command: Command): string {
  return `Usage: ${usageLine(command)} [--json]`;
}

/** `ctl key issue --help` */
function commandHelp(command: Command): string {
  const options = [
    ...Object.entries(command.options ?? {}).map(([name, rule]) =>
      [rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`, rule.description] as const
    ),
    ...everywhere,
  ];
  const paragraphs = [
    usage(command),
    `${command.summary}.`,
    `Options:\n${columns(options)}`,
  ];
  if (command.notes !== undefined) paragraphs.push(command.notes);
  const takesTime = Object.values(command.options ?? {}).some((rule) => rule.value === "TIME");
  if (takesTime) paragraphs.push(outro.split("\n").slice(1, 3).join("\n"));
  return paragraphs.join("\n\n");
}

/** `ctl --help`, and `ctl key --help` with the commands of one noun. */
function overview(commands: readonly Command[], noun?: string): string {
  const shown = noun === undefined
    ? commands
    : commands.filter((command) => command.words.startsWith(`${noun} `));
  const lines = shown.map((command) => [`ctl ${command.words}`, command.summary] as const);
  return [
    `Usage: ctl ${noun ?? "NOUN"} VERB [ARGUMENTS] [OPTIONS] [--json]`,
    columns(lines),
    `ctl ${noun ?? "NOUN"} VERB --help tells what a command takes.`,
    outro,
  ].join("\n\n");
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

/** Every command, in the order in which the help lists them. */
function commandsIn(surroundings: Surroundings): readonly Command[] {
  const commands: readonly Command[] = [
    ...tenantCommands,
    ...tenantChangeCommands,
    ...routeCommands(surroundings),
    ...campaignCommands,
    ...keyCommands,
    ...ipCommands,
    ...vocabularyCommands,
    ...leadCommands,
    ...formCommands,
    ...deadCommands,
    ...collisionCommands,
    ...planCommands,
    ...eraseCommands,
    ...subscriptionCommands,
    ...auditCommands,
    ...restoredCommands,
    ...doctorCommands(surroundings),
    ...certificatesCommands,
    ...completionCommands(() => commands),
  ];
  return commands;
}

/** What the program leaves behind. */
interface Outcome {
  readonly status: 0 | 1 | 2;
  readonly stdout?: string;
  readonly stderr?: string | undefined;
}

async function runCommandLine(argv: readonly string[], surroundings: Surroundings): Promise<Outcome> {
  const commands = commandsIn(surroundings);
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const wantsHelp = options.some((argument) => argument === "--help" || argument === "-h");
  // `ctl --json key list` is as good as `ctl key list --json`.
  const start = argv.findIndex((argument) => !argument.startsWith("-"));
  const [noun, verb] = start === -1 ? [] : argv.slice(start);
  const command = commands.find(({ words }) => words === noun || words === `${noun} ${verb}`);
  if (command !== undefined) {
    if (wantsHelp) return { status: 0, stdout: commandHelp(command) };
    const count = command.words.split(" ").length;
    return await runCommand(command, argv.toSpliced(start, count), surroundings);
  }
  const isNoun = commands.some(({ words }) => words.startsWith(`${noun} `));
  const help = overview(commands, isNoun ? noun : undefined);
  if (noun === "help" || (wantsHelp && (noun === undefined || isNoun))) return { status: 0, stdout: help };
  const unknown = isNoun ? verb === undefined ? null : `${noun} ${verb}` : noun ?? null;
  return { status: 2, stderr: unknown === null ? help : `Unknown command: ${safe(unknown)}\n\n${help}` };
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<Outcome> {
  try {
    const input = parseInput(command, argv);
    const alone = command.prepareAlone?.(input) ?? null;
    const work = alone ?? withStore(surroundings, command.prepare(input));
    return outcomeOf(await work(), input);
  } catch (error) {
    if (error instanceof Refused) return { status: 1, stderr: safe(error.message) };
    if (!(error instanceof WrongUsage)) throw error;
    const lines = [error.message, ...error.details.map((detail) => `  ${detail}`)];
    return { status: 2, stderr: [...lines.map(safe), usage(command)].join("\n") };
  }
}

function outcomeOf(reply: Reply, { json }: Input): Outcome {
  const stdout = json ? renderJson(reply.json) : reply.text;
  return { status: reply.isBad === true ? 1 : 0, stdout, stderr: reply.warning };
}

/**
 * A command's work on a connection of its own.
 *
 * It throws {@linkcode Refused} for a failure of the store, in the operator's words.
 */
function withStore(surroundings: Surroundings, work: (pool: Pool) => Promise<Reply>): () => Promise<Reply> {
  return async () => {
    const databaseUrl = databaseAddress(surroundings);
    const pool = openAdminPool(databaseUrl, accountName());
    try {
      return await work(pool);
    } catch (error) {
      const explanation = explainFailure(error, databaseUrl);
      throw explanation === null ? error : new Refused(explanation, { cause: error });
    } finally {
      await pool.close();
    }
  };
}

/** The account of this machine, for the audit; several people may share the database's role. */
function accountName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // The account has no name on this machine, as in many containers.
    return `uid ${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

function databaseAddress({ findDatabaseUrl }: Surroundings): string {
  try {
    const databaseUrl = findDatabaseUrl();
    // An unreadable one would be printed, password and all, by what fails on it.
    const fault = addressFault(databaseUrl);
    if (fault === null) return databaseUrl;
    throw new Refused(`DATABASE_URL ${fault}`);
  } catch (error) {
    const { message } = error as Error;
    const isSaid = error instanceof Refused || message.startsWith("DATABASE_URL_FILE");
    throw new Refused(isSaid ? message : `${message}; set DATABASE_URL, or run npm start`);
  }
}

/** A key that was pasted where another argument belongs is not repeated on stderr. */
function withoutKeys(text: string): string {
  return text.replace(/((?:lead|form)_(?:live|test)_)[0-9A-Za-z]{8,}/g, "$1…");
}

/** Runs one command line, prints what it answers and sets the exit status of the process. */
export async function runCtl(argv: readonly string[], surroundings: Surroundings): Promise<void> {
  // `ctl lead list | head` closes the pipe early; that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  const outcome = await runCommandLine(argv, surroundings);
  process.exitCode = outcome.status;
  if (outcome.stdout !== undefined) process.stdout.write(`${outcome.stdout}\n`);
  if (outcome.stderr !== undefined) process.stderr.write(`${withoutKeys(outcome.stderr)}\n`);
}
