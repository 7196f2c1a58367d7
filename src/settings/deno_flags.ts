/**
 * What the service and the actions process may do when they run on Deno: the narrowest flags that they work with. The
 * tests start the service with these, and docs/operating.md has them.
 *
 * @module
 */

import { actionsVariables } from "./actions_variables.ts";
import { credentialsName } from "./credentials.ts";
import { handedNames } from "./inherited.ts";
import { runtimeFolderName, supervisorNames } from "./supervisor.ts";
import { secretNames } from "./secret_files.ts";
import { variables } from "./variables.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags of `deno run` for `src/main.ts`, started in the repository's folder: the network, its settings, and
 * the files that it reads: `sql/`, and what the environment names as a file or folder.
 */
export function denoFlags(environment: Environment = {}): string[] {
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    ...notifying(environment),
    `--allow-read=${["sql", ...filesOf(variables, environment)].join(",")}`,
    // postgres.js looks for PGSSL and the like when it opens a pool.
    `--allow-env=${[...settingNames(), "PG*", ...systemd].join(",")}`,
  ];
}

// What systemd tells, and through what it is told: only where it wants to be.
// Deno itself reads the last one when it starts the child that tells.
const systemd = [...handedNames, ...supervisorNames, credentialsName, "NODE_V8_COVERAGE"];
const notifying = ({ NOTIFY_SOCKET }: Environment) => NOTIFY_SOCKET ? ["--allow-run=systemd-notify"] : [];

// Which authorities to trust beside the well-known ones, as Node names them.
const trust = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * The flags of `deno run` for `src/actions/main.ts`, likewise. It calls servers of others, and for that Deno reads
 * the authorities to trust: the flag takes no narrower name, and without any of these every CRM call fails.
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

/** The names of the settings, and of the files in which secret ones may stand. */
function namesOf(settings: Readonly<Record<string, unknown>>): string[] {
  return [
    ...Object.keys(settings),
    ...secretNames.filter((name) => name in settings).map((name) => `${name}_FILE`),
  ];
}

/** The names of the settings; several that begin alike are one pattern, so that a person can read the command. */
function settingNames(): string[] {
  const groups = Map.groupBy(namesOf(variables), (name) => name.replace(/_.*/, "_*"));
  return [...groups].map(([pattern, names]) => names.length === 1 ? names[0] as string : pattern);
}
