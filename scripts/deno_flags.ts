/** Computes the minimal Deno permissions of both processes, for the tests and the documents. */

import { actionsVariables } from "../src/settings/actions_variables.ts";
import { credentialsName } from "../src/settings/credentials.ts";
import { socketVariables } from "../src/settings/inherited.ts";
import type { Environment } from "../src/settings/reader.ts";
import { runtimeFolderName, supervisorNames } from "../src/settings/supervisor.ts";
import { secretNames } from "../src/settings/secret_files.ts";
import { variables } from "../src/settings/variables.ts";

/**
 * Returns the flags of `deno run` for `src/main.ts`, run in the repository's folder: network, settings, `sql/`, and the
 * files and folders that the environment names.
 */
export function denoFlags(environment: Environment = {}): string[] {
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    ...notifyFlags(environment),
    `--allow-read=${["sql", ...readableFiles(variables, environment)].join(",")}`,
    // postgres.js reads PGSSL and others when it opens a pool.
    `--allow-env=${[...settingNames(), "PG*", ...systemd].join(",")}`,
  ];
}

// Deno reads NODE_V8_COVERAGE when it starts systemd-notify.
const systemd = [...socketVariables, ...supervisorNames, credentialsName, "NODE_V8_COVERAGE"];
const notifyFlags = ({ NOTIFY_SOCKET }: Environment) => NOTIFY_SOCKET ? ["--allow-run=systemd-notify"] : [];

// Node's variables for additional trusted CA certificates.
const caNames = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * Returns the flags of `deno run` for `src/actions/main.ts`. Deno also reads the system's CA certificates, which verify
 * the servers of webhooks and mail.
 */
export function actionsDenoFlags(environment: Environment = {}): string[] {
  const files = [...readableFiles(actionsVariables, environment), environment.NODE_EXTRA_CA_CERTS || []]
    .flat();
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    "--allow-sys",
    ...notifyFlags(environment),
    // Deno needs permission to read the modules of a thread.
    `--allow-read=${["sql", "src", "node_modules", ...files].join(",")}`,
    `--allow-env=${[...variableNames(actionsVariables), "PG*", ...systemd, ...caNames].join(",")}`,
  ];
}

function readableFiles(settings: Readonly<Record<string, unknown>>, environment: Environment): string[] {
  return variableNames(settings)
    .filter((name) => /_(FILE|DIR)$/.test(name))
    .flatMap((name) => environment[name] || (name === "SITE_DIR" ? variables.SITE_DIR.default : []))
    .concat(environment[credentialsName] ?? [], environment[runtimeFolderName] ?? []);
}

/** Returns the names of settings and of their `_FILE` variants. */
function variableNames(settings: Readonly<Record<string, unknown>>): string[] {
  return [
    ...Object.keys(settings),
    ...secretNames.filter((name) => name in settings).map((name) => `${name}_FILE`),
  ];
}

/** Returns the names, with common prefixes merged into patterns for readability. */
function settingNames(): string[] {
  const groups = Map.groupBy(variableNames(variables), (name) => name.replace(/_.*/, "_*"));
  return [...groups].map(([pattern, names]) => names.length === 1 ? names[0] as string : pattern);
}
