/** Defines commands and parses their arguments. The parser and the help use the same definitions. */

import { parseArgs } from "node:util";
import type { Environment } from "#src/settings/reader.ts";
import type { Pool } from "#src/store/pool.ts";

/** An invalid command line; exit status 2. The message and the command's usage are printed to stderr. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * A command that cannot be carried out; exit status 1. The message states the cause and, if there is one, the remedy. The
 * details are printed below it, one a line.
 */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly details: readonly string[];

  constructor(
    message: string,
    { details = [], ...options }: ErrorOptions & { readonly details?: readonly string[] } = {},
  ) {
    super(message, options);
    this.details = details;
  }
}

/** The result of a command; `text` or, with `--json`, `json` is printed. */
export interface Reply {
  /** The document for `--json`; see `renderJson`. */
  readonly json: unknown;
  /** The text output, in which stored text is already escaped. */
  readonly text: string;
  /** Printed piece by piece instead of `text`, while the store is open, so that a long text needs little memory. */
  readonly chunks?: AsyncIterable<string>;
  /** Printed to stderr if the command succeeded but may not have done what you meant. */
  readonly warning?: string | undefined;
  /** Whether the command ran and found failures; the exit status is then 1. */
  readonly hasFailures?: boolean;
}

export interface OptionRule {
  /** The value's placeholder in the help; an option without one is a switch. */
  readonly value?: string;
  readonly required?: true;
  /** Whether the option is repeatable; see `Input.options`. */
  readonly isRepeatable?: true;
  /** The values that a shell completes, besides those in `value`. */
  readonly completions?: readonly string[];
  readonly description: string;
}

export interface Command {
  /** The command's name, such as `key issue` or `erase`. */
  readonly words: string;
  /** The names of the positional arguments; `…` after the last one makes it repeatable, brackets make it optional. */
  readonly positionals?: readonly string[];
  /** The values of the first positional argument that a shell completes. */
  readonly completions?: readonly string[];
  readonly options?: Readonly<Record<string, OptionRule>>;
  /** One line, shown in the overview and in the command's help. */
  readonly summary: string;
  /** Further paragraphs of the command's help. */
  readonly notes?: string;
  /** The server's timeout for each of the command's statements; default: the pool's. */
  readonly statementTimeoutMs?: number;
  /**
   * Checks the arguments and returns the function that runs the command, so that usage errors never reach the store.
   *
   * @throws {UsageError}
   */
  readonly prepare: (input: Input) => (pool: Pool) => Promise<Reply>;
  /**
   * Like `prepare`, but for a run without the store; returns `null` for arguments that need the store.
   *
   * @throws {UsageError}
   */
  readonly prepareWithoutStore?: (input: Input) => (() => Promise<Reply>) | null;
}

/** The dependencies of commands, other than the store. */
export interface CommandContext {
  readonly environment: Environment;
  /** Whether to print colors. */
  readonly isColored: boolean;
  /**
   * Returns the database URL.
   *
   * @throws {Error} if none is set or its file cannot be read
   */
  findDatabaseUrl(): string;
  /** Returns the settings of the `npm start` running on this machine, or `null`. */
  developmentSettings(): Environment | null;
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** The `prepare` of commands whose {@linkcode Command.prepareWithoutStore} never returns `null`. */
export function needsNoStore(): never {
  throw new Error("This command does not use the store");
}

/** The arguments of a command line, checked against the command's definition. */
export class Input {
  readonly positionals: readonly string[];
  /** Whether to print JSON. */
  readonly json: boolean;
  readonly #values: Values;

  constructor(positionals: readonly string[], values: Values) {
    this.positionals = positionals;
    this.json = values.json === true;
    this.#values = values;
  }

  /** The first positional argument, for commands that require one. */
  get first(): string {
    return this.positionals[0] as string;
  }

  /** Returns the value of an option, or `undefined` if it is not given. */
  option(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Returns the values of a repeatable option, in order. */
  options(name: string): readonly string[] {
    return [this.#values[name] ?? []].flat().filter((value) => typeof value === "string");
  }

  /** Returns the value of a required option. */
  required(name: string): string {
    const value = this.option(name);
    if (value === undefined) throw new UsageError(`--${name} is missing`);
    return value;
  }

  /** Whether a switch is given. */
  has(name: string): boolean {
    return this.#values[name] === true;
  }
}

/**
 * Parses the arguments after a command's words.
 *
 * @throws {UsageError} for an unknown or repeated option, and for a missing or surplus argument
 */
export function parseInput(command: Command, argv: readonly string[]): Input {
  const { positionals: names = [], options: rules = {} } = command;
  const options: Record<string, ParsedOption> = { json: { type: "boolean" } };
  for (const [name, rule] of Object.entries(rules)) {
    options[name] = {
      type: rule.value === undefined ? "boolean" : "string",
      multiple: rule.isRepeatable === true,
    };
  }
  const { values, positionals, tokens } = parseStrictly(argv, options);

  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option" || options[token.name]?.multiple) continue;
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
    seen.add(token.name);
  }
  const missing = names[positionals.length];
  if (missing !== undefined && !missing.startsWith("[")) {
    throw new UsageError(`${missing.replace("…", "")} is missing`);
  }
  if (positionals.length > names.length && names.at(-1)?.includes("…") !== true) {
    // An argument after --secret NAME may be the secret.
    const shown = Object.hasOwn(rules, "secret") ? "" : `: ${positionals[names.length]}`;
    throw new UsageError(`Unexpected argument${shown}`);
  }
  const absent = Object.entries(rules)
    .filter(([name, rule]) => rule.required === true && values[name] === undefined)
    .map(([name]) => `--${name}`);
  if (absent.length > 0) throw new UsageError(`Missing: ${absent.join(", ")}`);
  return new Input(positionals, values);
}

interface ParsedOption {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
}

function parseStrictly(argv: readonly string[], options: Record<string, ParsedOption>) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true, tokens: true });
  } catch (error) {
    // The first sentence of Node's message names the option; the rest is advice to developers.
    const [sentence] = (error as Error).message.split(/[.\n]/);
    throw new UsageError(sentence ?? "Invalid arguments");
  }
}
