/**
 * What a command of the operator's tool is: its words, what it takes, and what it does. The help is
 * made from the same data as the parser.
 */

import { parseArgs } from "node:util";
import type { Environment } from "#src/settings/reader.ts";
import type { Pool } from "#src/store/pool.ts";

/** The command line is wrong: the message, what is wrong in detail and the command's usage go to stderr, exit 2. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}

/** The store says no, or has no such thing: the message says what and what to do, exit 1. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** What a command answers; one of the two is printed. */
export interface Reply {
  /** For `--json`: one document, see `renderJson`. */
  readonly json: unknown;
  /** For a person; control characters from the store are escaped already. */
  readonly text: string;
  /** For a person too, on stderr: what was done, was done, but is perhaps not what was meant. */
  readonly warning?: string | undefined;
  /** What was asked for was found out, and is not well: exit 1. */
  readonly isBad?: boolean;
}

/** One option of a command. */
export interface OptionRule {
  /** What stands for the value in the help; an option without it is a switch. */
  readonly value?: string;
  readonly required?: true;
  /** It may be given several times; see `Input.options`. */
  readonly several?: true;
  readonly description: string;
}

/** One command. */
export interface Command {
  /** The two words that name it, such as `key issue`, or the one of a command without a verb. */
  readonly words: string;
  /** Names of what stands without an option; a last one with `…` may be repeated, one in brackets left out. */
  readonly positionals?: readonly string[];
  readonly options?: Readonly<Record<string, OptionRule>>;
  /** One line, for the overview. */
  readonly summary: string;
  /** What else the help of the command says. */
  readonly notes?: string;
  /**
   * Checks the arguments and returns what is left to do, so that wrong usage never reaches the store.
   *
   * @throws {WrongUsage}
   */
  readonly prepare: (input: Input) => (pool: Pool) => Promise<Reply>;
  /**
   * Checks arguments with which the command needs no store, and returns what is left to do; `null`: it needs one.
   *
   * @throws {WrongUsage}
   */
  readonly prepareAlone?: (input: Input) => (() => Promise<Reply>) | null;
}

/** What a command is run in. */
export interface Surroundings {
  readonly environment: Environment;
  /** Whether stdout shows colors. */
  readonly isColored: boolean;
  /**
   * The address of the database.
   *
   * @throws {Error} with what to do, when there is none, or its file cannot be read
   */
  findDatabaseUrl(): string;
  /** The settings of the `npm start` that runs here; `null` without one. */
  developmentSettings(): Environment | null;
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** For `prepare` of a command that has {@linkcode Command.prepareAlone} for whatever it is given. */
export function needsNoStore(): never {
  throw new Error("A command that needs no store was given one");
}

/** What was given on the command line, checked against the command's table. */
export class Input {
  readonly positionals: readonly string[];
  /** Print JSON. */
  readonly json: boolean;
  readonly #values: Values;

  constructor(positionals: readonly string[], values: Values) {
    this.positionals = positionals;
    this.json = values.json === true;
    this.#values = values;
  }

  /** The first argument of a command that takes one. */
  get first(): string {
    return this.positionals[0] as string;
  }

  /** The value of an option, or `undefined` when it is not given. */
  option(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** The values of an option that may be given several times, in their order. */
  options(name: string): readonly string[] {
    return [this.#values[name] ?? []].flat().filter((value) => typeof value === "string");
  }

  /** The value of an option that must be given. */
  required(name: string): string {
    const value = this.option(name);
    if (value === undefined) throw new WrongUsage(`--${name} is missing`);
    return value;
  }

  /** Whether a switch is given. */
  has(name: string): boolean {
    return this.#values[name] === true;
  }
}

/**
 * Reads what follows a command's words.
 *
 * @throws {WrongUsage} for an unknown or repeated option, a missing or surplus argument
 */
export function parseInput(command: Command, argv: readonly string[]): Input {
  const { positionals: names = [], options: rules = {} } = command;
  const options: Record<string, ParsedOption> = { json: { type: "boolean" } };
  for (const [name, rule] of Object.entries(rules)) {
    options[name] = {
      type: rule.value === undefined ? "boolean" : "string",
      multiple: rule.several === true,
    };
  }
  const { values, positionals, tokens } = parseStrictly(argv, options);

  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option" || options[token.name]?.multiple) continue;
    if (seen.has(token.name)) throw new WrongUsage(`--${token.name} is given twice`);
    seen.add(token.name);
  }
  const missing = names[positionals.length];
  if (missing !== undefined && !missing.startsWith("[")) {
    throw new WrongUsage(`${missing.replace("…", "")} is missing`);
  }
  if (positionals.length > names.length && names.at(-1)?.includes("…") !== true) {
    throw new WrongUsage(`Surplus argument: ${positionals[names.length]}`);
  }
  const absent = Object.entries(rules)
    .filter(([name, rule]) => rule.required === true && values[name] === undefined)
    .map(([name]) => `--${name}`);
  if (absent.length > 0) throw new WrongUsage(`Missing: ${absent.join(", ")}`);
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
    // Its first sentence names the option; the rest is advice for other programs.
    const [sentence] = (error as Error).message.split(/[.\n]/);
    throw new WrongUsage(sentence ?? "Wrong arguments");
  }
}
