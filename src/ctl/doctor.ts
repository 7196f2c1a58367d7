/** Defines `ctl doctor`. */

import { readFileSync, statSync } from "node:fs";
import { examineActionsConfig } from "#src/actions/config.ts";
import { actionsVariables } from "#src/settings/actions_variables.ts";
import { examineConfig } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import { loadSecretFiles } from "#src/settings/secret_files.ts";
import { variables } from "#src/settings/variables.ts";
import { databaseUrlError } from "#src/store/address.ts";
import { openAdminPool } from "#src/store/operator/admin_pool.ts";
import { readServerFacts } from "#src/store/operator/server_facts.ts";
import { type Command, type CommandContext, type Input, needsNoStore, Refused } from "./command.ts";
import {
  type Check,
  type CheckInput,
  checks,
  codeOf,
  type Database,
  failure,
  type Finding,
  ok,
  warning,
} from "./doctor_checks.ts";
import { safe } from "./terminal.ts";

/**
 * Parses a settings file: one variable per line, the last value wins, values may be quoted, and a backslash at the end of a
 * line continues it.
 *
 * Source: systemd.exec(5), EnvironmentFile=; quotes around only part of a value are not supported.
 */
function parseEnvironmentFile(text: string): Record<string, string> {
  const matches = text.replaceAll("\\\n", "").matchAll(/^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)\s*$/gm);
  return Object.fromEntries(
    [...matches].map(([, name = "", value = ""]) => [name, value.replace(/^(["'])(.*)\1$/, "$2")]),
  );
}

/** The settings to check, and where they were read from. */
interface SettingsSource {
  readonly environment: Environment;
  /** The name of the source in the findings. */
  readonly name: string;
  readonly findings: readonly Line[];
  /** The distinct values of `FORMS_LINK_SECRET` in the files. */
  readonly linkSecrets: ReadonlySet<string>;
}

function readSource(files: readonly string[], context: CommandContext): SettingsSource {
  if (files.length === 0) {
    const { environment } = context;
    const isSet = environment.DATABASE_URL?.trim() || environment.DATABASE_URL_FILE?.trim();
    const development = isSet ? null : context.developmentSettings();
    return {
      environment: development ?? environment,
      name: development === null ? "this shell's environment" : "the environment of the running npm start",
      findings: [],
      linkSecrets: new Set(),
    };
  }
  // Like systemd, ignores the environment of this shell.
  const environment: Record<string, string> = {};
  const findings: Line[] = [];
  const linkSecrets = new Set<string>();
  for (const file of files) {
    try {
      const settings: Record<string, string> = parseEnvironmentFile(readFileSync(file, "utf8"));
      Object.assign(environment, settings);
      loadSecretFiles(settings);
      if (settings.FORMS_LINK_SECRET?.trim()) linkSecrets.add(settings.FORMS_LINK_SECRET.trim());
      if ((statSync(file).mode & 0o007) !== 0) {
        const text = `${file} may contain passwords, and every user on this machine has access to it`;
        findings.push({ check: "Settings files", ...warning(text, `chmod 600 ${file}`) });
      }
    } catch (error) {
      throw new Refused(`${file} cannot be read (${codeOf(error)}); sudo may help`);
    }
  }
  return { environment, name: files.join(" and "), findings, linkSecrets };
}

/** Builds the check that reports the faults in a process's settings. */
function settingsCheck(
  process: "service" | "actions",
  { faults, alreadyReported = [], names, source }: {
    /** `null` if none of the process's settings is set. */
    readonly faults: readonly string[] | null;
    /** Faults that the other process's check reports, such as the same misspelled setting. */
    readonly alreadyReported?: readonly string[];
    readonly names: readonly string[];
    readonly source: SettingsSource;
  },
): Check {
  const [owner, file] = process === "service"
    ? ["the service", "/etc/lead-intake/intake.env"]
    : ["the actions process", "/etc/lead-intake/actions.env"];
  const count = names.filter((name) => source.environment[name]?.trim()).length;
  const findings = faults === null
    ? [
      warning(
        `no settings for ${owner} in ${source.name}`,
        `ctl doctor --settings ${file} (for several files, repeat --settings)`,
      ),
    ]
    : faults.length > 0
    ? faults.filter((fault) => !alreadyReported.includes(fault)).map((fault) =>
      failure(fault, `fix it in ${source.name}; see docs/configuration.md`)
    )
    : [ok(`${count} set in ${source.name}; ${owner} can start with them`)];
  return { name: `Settings, ${process}`, run: () => findings };
}

/** Opens the database whose URL is in a variable; `null` if the URL is missing or invalid, which other checks report. */
function openDatabase(environment: Environment, name: string): Database | null {
  const url = environment[name]?.trim() ?? "";
  if (databaseUrlError(url) !== null) return null;
  const pool = openAdminPool(url);
  let facts: ReturnType<typeof readServerFacts> | undefined;
  return { url, name, pool, facts: () => facts ??= readServerFacts(pool) };
}

interface Line extends Finding {
  readonly check: string;
}

// Longer than the timeout of each part of a check, so that the finding names the part that timed out.
const checkTimeoutMs = 10_000;

async function runCheck({ name, run }: Check, checkInput: CheckInput): Promise<Line[]> {
  const late = Promise.withResolvers<readonly Finding[]>();
  const timer = setTimeout(
    () => late.resolve([failure(`no result within ${checkTimeoutMs / 1_000} s`)]),
    checkTimeoutMs,
  );
  try {
    const findings = await Promise.race([run(checkInput), late.promise]);
    return findings.map((finding) => ({ check: name, ...finding }));
  } catch (error) {
    return [{ check: name, ...failure(`the check could not be completed: ${codeOf(error)}`) }];
  } finally {
    clearTimeout(timer);
  }
}

async function examine(input: Input, context: CommandContext): Promise<Line[]> {
  const files = input.options("settings");
  const source = readSource(files, context);
  const environment = { ...source.environment };
  // The settings checks report unreadable secret files.
  loadSecretFiles(environment);
  const isAnySet = (names: readonly string[]) => names.some((name) => environment[name]?.trim());
  const service = isAnySet(Object.keys(variables)) ? examineConfig(environment) : null;
  // A setting that both processes share does not show that the actions process has settings.
  const actions = isAnySet(Object.keys(actionsVariables).filter((name) => !(name in variables)))
    ? examineActionsConfig(environment)
    : null;
  const serviceDatabase = openDatabase(environment, "DATABASE_URL");
  const actionsDatabase = openDatabase(environment, "ACTIONS_DATABASE_URL");
  const checkInput: CheckInput = {
    environment,
    hasProcessSettings: files.length > 0,
    service: service?.config ?? null,
    actions: actions?.config ?? null,
    database: serviceDatabase ?? actionsDatabase,
    actionsDatabase: serviceDatabase === null ? null : actionsDatabase,
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
    const lines = await Promise.all(all.map((check) => runCheck(check, checkInput)));
    return [...source.findings, ...lines.flat()];
  } finally {
    await Promise.all([serviceDatabase?.pool.close(), actionsDatabase?.pool.close()]);
  }
}

const stateLabels = { ok: ["ok", 32], warning: ["warning", 33], failure: ["FAILURE", 31] } as const;

function render(lines: readonly Line[], isColored: boolean): string {
  const columns = Math.max(...lines.map(({ check }) => check.length));
  const shown = lines.map(({ state, check, text, fix }) => {
    const [word, color] = stateLabels[state];
    const first = isColored ? `\x1b[${color}m${word.padEnd(7)}\x1b[0m` : word.padEnd(7);
    const remedy = fix === undefined ? "" : `\n         → ${safe(fix)}`;
    return `${first}  ${check.padEnd(columns)}  ${safe(text)}${remedy}`;
  });
  const count = (state: Finding["state"]) => lines.filter((line) => line.state === state).length;
  const summary = `${count("failure")} failed, ${count("warning")} with warnings, ${count("ok")} ok`;
  return `${shown.join("\n")}\n\n${summary}`;
}

export const doctorCommands = (context: CommandContext): readonly Command[] => [{
  words: "doctor",
  options: {
    // Not --env-file: Node interprets that option itself, in any position, and fails if the file is missing.
    settings: {
      value: "FILE",
      isRepeatable: true,
      description:
        "settings of a process, in the format of systemd's EnvironmentFile; default: this shell's environment or, without a DATABASE_URL, that of the running npm start",
    },
    "backup-stamp": {
      value: "FILE",
      description: "a file that each backup touches when it ends; it must be at most 26 hours old",
    },
  },
  summary: "Check everything that the service needs, and show how to fix each problem",
  notes: `Checks settings, certificates, database, durability, migrations, grants, backup, actions tier, CRM
routes, mail server, digest links and disk, in parallel, each for at most 10 seconds. Nothing is
changed, nothing is sent, and no password is shown. Exit 0: no check failed; there may be warnings.

ctl doctor --settings /etc/lead-intake/intake.env --settings /etc/lead-intake/actions.env`,
  prepare: needsNoStore,
  prepareWithoutStore: (input) => async () => {
    const lines = await examine(input, context);
    const hasFailures = lines.some(({ state }) => state === "failure");
    return {
      json: {
        ok: !hasFailures,
        checks: lines.map(({ check, state, text, fix }) => ({ check, state, text, fix: fix ?? null })),
      },
      text: render(lines, context.isColored),
      hasFailures,
    };
  },
}];
