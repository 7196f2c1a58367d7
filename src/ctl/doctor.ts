/** `ctl doctor` */

import { readFileSync, statSync } from "node:fs";
import { examineActionsConfig } from "#src/actions/config.ts";
import { actionsVariables } from "#src/settings/actions_variables.ts";
import { examineConfig } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import { takeSecrets } from "#src/settings/secret_files.ts";
import { variables } from "#src/settings/variables.ts";
import { addressFault } from "#src/store/address.ts";
import { openAdminPool } from "#src/store/operator/admin_pool.ts";
import { readServerFacts } from "#src/store/operator/server_facts.ts";
import { type Command, type Input, needsNoStore, Refused, type Surroundings } from "./command.ts";
import {
  type Check,
  checks,
  codeOf,
  type Database,
  failure,
  type Finding,
  ok,
  type Situation,
  warning,
} from "./doctor_checks.ts";
import { safe } from "./terminal.ts";

/**
 * The variables of a settings file, one a line; of one that is set twice, the last value. A value may stand in quotes, and a
 * backslash at a line's end joins the next one to it.
 *
 * Source: systemd.exec(5), EnvironmentFile=, without quotes in parts of a value.
 */
function parseEnvironmentFile(text: string): Record<string, string> {
  const found = text.replaceAll("\\\n", "").matchAll(/^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)\s*$/gm);
  return Object.fromEntries(
    [...found].map(([, name = "", value = ""]) => [name, value.replace(/^(["'])(.*)\1$/, "$2")]),
  );
}

/** What the settings are read from. */
interface Source {
  readonly environment: Environment;
  /** For people. */
  readonly name: string;
  readonly findings: readonly Line[];
  /** The distinct values of `FORMS_LINK_SECRET` in the files. */
  readonly linkSecrets: ReadonlySet<string>;
}

function readSource(files: readonly string[], surroundings: Surroundings): Source {
  if (files.length === 0) {
    const { environment } = surroundings;
    const isSet = environment.DATABASE_URL?.trim() || environment.DATABASE_URL_FILE?.trim();
    const development = isSet ? null : surroundings.developmentSettings();
    return {
      environment: development ?? environment,
      name: development === null ? "this shell's environment" : "the npm start that runs here",
      findings: [],
      linkSecrets: new Set(),
    };
  }
  // As systemd has it: nothing of whoever runs the command.
  const environment: Record<string, string> = {};
  const findings: Line[] = [];
  const linkSecrets = new Set<string>();
  for (const file of files) {
    try {
      const settings: Record<string, string> = parseEnvironmentFile(readFileSync(file, "utf8"));
      Object.assign(environment, settings);
      takeSecrets(settings);
      if (settings.FORMS_LINK_SECRET?.trim()) linkSecrets.add(settings.FORMS_LINK_SECRET.trim());
      if ((statSync(file).mode & 0o007) !== 0) {
        const text = `everybody on this machine may read ${file}, and it has passwords`;
        findings.push({ check: "Settings files", ...warning(text, `chmod 600 ${file}`) });
      }
    } catch (error) {
      throw new Refused(`${file} cannot be read (${codeOf(error)}); sudo may help`);
    }
  }
  return { environment, name: files.join(" and "), findings, linkSecrets };
}

/** What the reader of a process's settings says of them. */
function settingsCheck(
  process: "service" | "actions",
  { faults, alreadyReported = [], names, source }: {
    /** `null`: none of them is set. */
    readonly faults: readonly string[] | null;
    /** What the other process's check says already: both readers find the same misspelled setting. */
    readonly alreadyReported?: readonly string[];
    readonly names: readonly string[];
    readonly source: Source;
  },
): Check {
  const [whose, file] = process === "service"
    ? ["the service", "/etc/lead-intake/intake.env"]
    : ["the actions process", "/etc/lead-intake/actions.env"];
  const count = names.filter((name) => source.environment[name]?.trim()).length;
  const found = faults === null
    ? [
      warning(
        `none of ${whose} is set in ${source.name}`,
        `ctl doctor --settings ${file} (several files: one --settings each)`,
      ),
    ]
    : faults.length > 0
    ? faults.filter((fault) => !alreadyReported.includes(fault)).map((fault) =>
      failure(fault, `fix it in ${source.name}; docs/configuration.md`)
    )
    : [ok(`${count} set in ${source.name}, the others at their defaults; ${whose} can start with them`)];
  return { name: `Settings, ${process}`, run: () => found };
}

/** The database that a variable names; one that is none is reported by the settings. */
function openDatabase(environment: Environment, name: string): Database | null {
  const url = environment[name]?.trim() ?? "";
  if (addressFault(url) !== null) return null;
  const pool = openAdminPool(url);
  let asked: ReturnType<typeof readServerFacts> | undefined;
  return { url, name, pool, facts: () => asked ??= readServerFacts(pool) };
}

/** One line of the answer. */
interface Line extends Finding {
  readonly check: string;
}

// Longer than each part of a check may take, so that what hangs is named.
const checkTimeoutMs = 10_000;

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
    return [{ check: name, ...failure(`it could not be looked at: ${codeOf(error)}`) }];
  } finally {
    clearTimeout(timer);
  }
}

async function examine(input: Input, surroundings: Surroundings): Promise<Line[]> {
  const files = input.options("settings");
  const source = readSource(files, surroundings);
  const environment = { ...source.environment };
  // What is wrong with their files the readers say.
  takeSecrets(environment);
  const isAny = (names: readonly string[]) => names.some((name) => environment[name]?.trim());
  const service = isAny(Object.keys(variables)) ? examineConfig(environment) : null;
  // Some of the actions process's settings are the service's too.
  const actions = isAny(Object.keys(actionsVariables).filter((name) => !(name in variables)))
    ? examineActionsConfig(environment)
    : null;
  const own = openDatabase(environment, "DATABASE_URL");
  const actionsDatabase = openDatabase(environment, "ACTIONS_DATABASE_URL");
  const situation: Situation = {
    environment,
    isOfProcess: files.length > 0,
    service: service?.config ?? null,
    actions: actions?.config ?? null,
    database: own ?? actionsDatabase,
    actionsDatabase: own === null ? null : actionsDatabase,
    backupStamp: input.option("backup-stamp") ?? null,
    linkSecrets: source.linkSecrets,
    nowMs: Date.now(),
  };
  const all = [
    settingsCheck("service", { faults: service?.faults ?? null, names: Object.keys(variables), source }),
    settingsCheck("actions", {
      faults: actions?.faults ?? null,
      alreadyReported: service?.faults ?? [],
      names: Object.keys(actionsVariables),
      source,
    }),
    ...checks,
  ];
  try {
    const lines = await Promise.all(all.map((check) => runCheck(check, situation)));
    return [...source.findings, ...lines.flat()];
  } finally {
    await Promise.all([own?.pool.close(), actionsDatabase?.pool.close()]);
  }
}

const words = { ok: ["ok", 32], warning: ["warning", 33], failure: ["FAILURE", 31] } as const;

function render(lines: readonly Line[], isColored: boolean): string {
  const columns = Math.max(...lines.map(({ check }) => check.length));
  const shown = lines.map(({ state, check, text, fix }) => {
    const [word, color] = words[state];
    const first = isColored ? `\x1b[${color}m${word.padEnd(7)}\x1b[0m` : word.padEnd(7);
    const then = fix === undefined ? "" : `\n         → ${safe(fix)}`;
    return `${first}  ${check.padEnd(columns)}  ${safe(text)}${then}`;
  });
  const count = (state: Finding["state"]) => lines.filter((line) => line.state === state).length;
  const summary = `${count("failure")} failed, ${count("warning")} to be seen to, ${count("ok")} ok`;
  return `${shown.join("\n")}\n\n${summary}`;
}

/** The command. */
export const doctorCommands = (surroundings: Surroundings): readonly Command[] => [{
  words: "doctor",
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
  summary: "Look at everything that the service needs, and say how to fix what is wrong",
  notes: `Settings, certificates, database, durability, migrations, grants, backup, actions tier,
mail server and disk; side by side, each 10 seconds at most. Nothing is changed, no mail is sent, and
no password is shown. Exit status 0: nothing failed, there may be warnings.

ctl doctor --settings /etc/lead-intake/intake.env --settings /etc/lead-intake/actions.env`,
  prepare: needsNoStore,
  prepareAlone: (input) => async () => {
    const lines = await examine(input, surroundings);
    const isBad = lines.some(({ state }) => state === "failure");
    return {
      json: {
        ok: !isBad,
        checks: lines.map(({ check, state, text, fix }) => ({ check, state, text, fix: fix ?? null })),
      },
      text: render(lines, surroundings.isColored),
      isBad,
    };
  },
}];
