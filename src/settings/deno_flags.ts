/** The minimal Deno permissions of both processes. The tests use them, and the documents list them. */

import { actionsVariables } from "./actions_variables.ts";
import { credentialsName } from "./credentials.ts";
import { handedNames } from "./inherited.ts";
import { runtimeFolderName, supervisorNames } from "./supervisor.ts";
import { secretNames } from "./secret_files.ts";
import { variables } from "./variables.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags of `deno run` for `src/main.ts` in the repository's folder: network, settings, `sql/`, and the files and
 * folders that the environment names.
 */
export function denoFlags(environment: Environment = {}): string[] {
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    ...notifying(environment),
    `--allow-read=${["sql", ...filesOf(variables, environment)].join(",")}`,
    // postgres.js reads PGSSL and others when it opens a pool.
    `--allow-env=${[...settingNames(), "PG*", ...systemd].join(",")}`,
  ];
}

// For systemd's notifications, if it wants them.
// Deno reads the last one when it starts systemd-notify.
const systemd = [...handedNames, ...supervisorNames, credentialsName, "NODE_V8_COVERAGE"];
const notifying = ({ NOTIFY_SOCKET }: Environment) => NOTIFY_SOCKET ? ["--allow-run=systemd-notify"] : [];

// Additional authorities, with Node's names.
const trust = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * The flags of `deno run` for `src/actions/main.ts`. For other servers' certificates, Deno needs to read the system's
 * authorities.
 */
export function actionsDenoFlags(environment: Environment = {}): string[] {
  const files = [...filesOf(actionsVariables, environment), environment.NODE_EXTRA_CA_CERTS || []].flat();
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    "--allow-sys",
    ...notifying(environment),
    `--allow-read=${["sql", ...files].join(",")}`,
    `--allow-env=${[...namesOf(actionsVariables), "PG*", ...systemd, ...trust].join(",")}`,
  ];
}

function filesOf(settings: Readonly<Record<string, unknown>>, environment: Environment): string[] {
  return namesOf(settings)
    .filter((name) => /_(FILE|DIR)$/.test(name))
    .flatMap((name) => environment[name] || (name === "SITE_DIR" ? variables.SITE_DIR.default : []))
    .concat(environment[credentialsName] ?? [], environment[runtimeFolderName] ?? []);
}

/** The names of settings, and of their secret files. */
function namesOf(settings: Readonly<Record<string, unknown>>): string[] {
  return [
    ...Object.keys(settings),
    ...secretNames.filter((name) => name in settings).map((name) => `${name}_FILE`),
  ];
}

/** The names, with common prefixes merged into patterns for readability. */
function settingNames(): string[] {
  const groups = Map.groupBy(namesOf(variables), (name) => name.replace(/_.*/, "_*"));
  return [...groups].map(([pattern, names]) => names.length === 1 ? names[0] as string : pattern);
}
