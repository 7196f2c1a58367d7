/**
 * `ctl doctor`
 *
 * @module
 */

import { readFileSync, statSync } from "node:fs";
import { examineActionsConfig } from "#src/actions/config.ts";
import { type Command, type Input, needsNoStore, Refused, type Reply, type Surroundings } from "./command.ts";
import { certificateChecks } from "./doctor/certificates.ts";
import {
  type Check,
  type Database,
  type Examined,
  failure,
  type Finding,
  ok,
  seen,
  type Situation,
  type State,
  warning,
} from "./doctor/check.ts";
import { databaseChecks } from "./doctor/database.ts";
import { askTier, diskChecks, networkChecks } from "./doctor/network.ts";
import { safe } from "./terminal.ts";
import { actionsVariables } from "#src/settings/actions_variables.ts";
import { examineConfig } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import { takeSecrets } from "#src/settings/secret_files.ts";
import { variables } from "#src/settings/variables.ts";
import { addressFault } from "#src/store/address.ts";
import { openAdminPool } from "#src/store/operator/admin_pool.ts";
import { readServerFacts } from "#src/store/operator/server_facts.ts";

/** Between double quotes a backslash keeps these alone from meaning anything; elsewhere it stays. */
const escapable = '"\\`$';

/**
 * The variables of a file; of one that is set twice, the last value. Empty lines and those that begin with `#` or `;`
 * count for nothing, as does a line without `=`. A value may be in quotes, in parts too; a backslash at a line's end joins
 * the next one to it.
 *
 * Source: systemd.exec(5), EnvironmentFile=.
 */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  let at = 0;
  while (at < text.length) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
    const name = /^([A-Za-z_][A-Za-z0-9_]*)[ \t]*=/.exec(text.slice(at));
    if (name === null) {
      at = skipLine(text, at);
      continue;
    }
    const { value, end } = readValue(text, at + name[0].length);
    variables[name[1] as string] = value;
    at = end;
  }
  return variables;
}

/** A comment goes on when its line ends in a backslash. */
function skipLine(text: string, at: number): number {
  return at + (/^(?:\\\n|[^\n])*\n?/.exec(text.slice(at))?.[0].length ?? 0);
}

function readValue(text: string, start: number): { readonly value: string; readonly end: number } {
  let value = "";
  // What stands bare at the end, without its spaces.
  let kept = 0;
  let at = start;
  let quote = "";
  for (; at < text.length; at += 1) {
    const character = text[at] as string;
    const next = text[at + 1] ?? "";
    if (quote === "" && character === "\n") break;
    if (quote !== "" && character === quote) quote = "";
    else if (quote === "" && (character === '"' || character === "'")) quote = character;
    else if (character === "\\" && quote !== "'") {
      at += 1;
      if (next === "\n") continue;
      value += quote === '"' && !escapable.includes(next) ? `\\${next}` : next;
    } else if (quote === "" && /[ \t\r]/.test(character)) {
      if (value !== "") value += character;
      continue;
    } else value += character;
    kept = value.length;
  }
  return { value: value.slice(0, kept), end: at + 1 };
}

function findingsOf(
  situation: Situation,
  examined: Examined<unknown> | null,
  process: { readonly name: string; readonly file: string; readonly names: readonly string[] },
): Finding[] {
  if (examined === null) {
    return [
      warning(
        `none of ${process.name} is set in ${situation.source}`,
        `ctl doctor --settings ${process.file} (several files: one --settings each)`,
      ),
    ];
  }
  if (examined.faults.length > 0) {
    return examined.faults.map((fault) =>
      failure(fault, `mend it in ${situation.source}; docs/configuration.md`)
    );
  }
  const count = process.names.filter((name) => situation.environment[name]?.trim()).length;
  return [
    ok(
      `${count} set in ${situation.source}, the others at their defaults; ${process.name} can start with them`,
    ),
  ];
}

/** The checks. */
const settingsChecks: readonly Check[] = [
  {
    name: "Settings, service",
    run: (situation) =>
      Promise.resolve(findingsOf(situation, situation.service, {
        name: "the service",
        file: "/etc/lead-intake/intake.env",
        names: Object.keys(variables),
      })),
  },
  {
    name: "Settings, actions",
    run: (situation) =>
      Promise.resolve(findingsOf(situation, situation.actions, {
        name: "the actions process",
        file: "/etc/lead-intake/actions.env",
        names: Object.keys(actionsVariables),
      })),
  },
];

/** In the order in which they are shown; they run side by side. */
const checks: readonly Check[] = [
  ...settingsChecks,
  ...certificateChecks,
  ...databaseChecks,
  ...networkChecks,
  ...diskChecks,
];

// Longer than each part of a check may take, so that what hangs is named.
const checkTimeoutMs = 10_000;

/** One line of the answer. */
interface Line extends Finding {
  readonly check: string;
}

async function runCheck({ name, run }: Check, situation: Situation): Promise<Line[]> {
  const late = Promise.withResolvers<readonly Finding[]>();
  const timer = setTimeout(
    () => late.resolve([failure(`no answer within ${checkTimeoutMs / 1_000} s`)]),
    checkTimeoutMs,
  );
  try {
    const found = await Promise.race([run(situation), late.promise]);
    return found.map((finding) => ({ check: name, ...finding }));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return [{ check: name, ...failure(`it could not be looked at: ${code ?? message.split("\n")[0]}`) }];
  } finally {
    clearTimeout(timer);
  }
}

/** What the settings are read from. */
interface Source {
  readonly environment: Environment;
  readonly name: string;
  readonly isOfProcess: boolean;
  readonly findings: readonly Line[];
}

function readSource(files: readonly string[], surroundings: Surroundings): Source {
  if (files.length === 0) {
    const { environment } = surroundings;
    const development = environment.DATABASE_URL?.trim() || environment.DATABASE_URL_FILE?.trim()
      ? null
      : surroundings.developmentSettings();
    return {
      environment: development ?? environment,
      name: development === null ? "this shell's environment" : "the npm start that runs here",
      isOfProcess: false,
      findings: [],
    };
  }
  // As systemd has it: nothing of whoever runs the command.
  const environment: Record<string, string> = {};
  const findings: Line[] = [];
  for (const file of files) {
    try {
      Object.assign(environment, parseEnvironmentFile(readFileSync(file, "utf8")));
      if ((statSync(file).mode & 0o007) !== 0) {
        findings.push({
          check: "Settings files",
          ...warning(`everybody on this machine may read ${file}, and it has passwords`, `chmod 600 ${file}`),
        });
      }
    } catch (error) {
      throw new Refused(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}); sudo may help`);
    }
  }
  return { environment, name: files.join(" and "), isOfProcess: true, findings };
}

/** The database that a variable names; one that is none is told of by the settings. */
function openDatabase(environment: Environment, name: string): Database | null {
  const url = environment[name]?.trim() ?? "";
  if (addressFault(url) !== null) return null;
  const pool = openAdminPool(url);
  return { url, name, pool, facts: once(() => seen(() => readServerFacts(pool))) };
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => asked ??= ask();
}

function isAny(environment: Environment, names: object): boolean {
  return Object.keys(names).some((name) => environment[name]?.trim());
}

async function examine(input: Input, surroundings: Surroundings): Promise<Line[]> {
  const source = readSource(input.options("settings"), surroundings);
  const environment = { ...source.environment };
  // What is wrong with their files the readers say.
  takeSecrets(environment);
  const [serviceDatabase, actionsDatabase] = ["DATABASE_URL", "ACTIONS_DATABASE_URL"]
    .map((name) => openDatabase(environment, name)) as [Database | null, Database | null];
  const situation: Situation = {
    environment,
    source: source.name,
    isOfProcess: source.isOfProcess,
    service: isAny(environment, variables) ? examineConfig(environment) : null,
    actions: isAny(environment, actionsVariables) ? examineActionsConfig(environment) : null,
    database: serviceDatabase ?? actionsDatabase,
    actionsDatabase: serviceDatabase === null ? null : actionsDatabase,
    tier: once(() => askTier(environment)),
    backupStamp: input.option("backup-stamp") ?? null,
    nowMs: Date.now(),
  };
  try {
    const lines = await Promise.all(checks.map((check) => runCheck(check, situation)));
    return [...source.findings, ...lines.flat()];
  } finally {
    await Promise.all([serviceDatabase?.pool.close(), actionsDatabase?.pool.close()]);
  }
}

const words: Readonly<Record<State, readonly [string, number]>> = {
  ok: ["ok", 32],
  warning: ["warning", 33],
  failure: ["FAILURE", 31],
};

function render(lines: readonly Line[], isColored: boolean): string {
  const columns = Math.max(...lines.map(({ check }) => check.length));
  const shown = lines.map(({ state, check, text, mend }) => {
    const [word, color] = words[state];
    const first = isColored ? `\x1b[${color}m${word.padEnd(7)}\x1b[0m` : word.padEnd(7);
    return `${first}  ${check.padEnd(columns)}  ${safe(text)}${
      mend === undefined ? "" : `\n         → ${safe(mend)}`
    }`;
  });
  const count = (state: State) => lines.filter((line) => line.state === state).length;
  const summary = `${count("failure")} failed, ${count("warning")} to be seen to, ${count("ok")} ok`;
  return `${shown.join("\n")}\n\n${summary}`;
}

const doctor = (surroundings: Surroundings): Command => ({
  words: "doctor",
  positionals: [],
  options: {
    // Not --env-file: Node reads an option of that name itself, wherever it stands, and fails when the file is not there.
    settings: {
      value: "FILE",
      several: true,
      description: "settings of a process, as systemd's EnvironmentFile has them; this shell's when left out",
    },
    "backup-stamp": {
      value: "FILE",
      description: "a file that the backup touches when it is done; over 26 hours old is a failure",
    },
  },
  summary: "Look at everything that the service needs, and say what mends what is not well",
  notes: `Settings, certificates, database, durability, migrations, grants, backup, name
resolution, clock, actions tier, mail server and disk; side by side, each 10 seconds at most.
Nothing is changed, no mail is sent, and no password is shown. The clock is compared with
the database's and the actions tier's. Exit status 0: nothing failed, there may be warnings.

ctl doctor --settings /etc/lead-intake/intake.env --settings /etc/lead-intake/actions.env`,
  prepare: needsNoStore,
  prepareAlone: (input) => async (): Promise<Reply> => {
    const lines = await examine(input, surroundings);
    const isBad = lines.some(({ state }) => state === "failure");
    return {
      json: {
        ok: !isBad,
        checks: lines.map(({ check, state, text, mend }) => ({ check, state, text, mend: mend ?? null })),
      },
      text: render(lines, surroundings.isColored),
      isBad,
    };
  },
});

/** The command. */
export const doctorCommands = (surroundings: Surroundings): readonly Command[] => [doctor(surroundings)];
