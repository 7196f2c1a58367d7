/**
 * What the service and the actions process may do when they run on Deno: the narrowest flags that they work with. The
 * tests start the service with these, and docs/operating.md has them.
 *
 * @module
 */

import { actionsVariables } from "../src/settings/actions_variables.ts";
import { secretNames } from "../src/settings/secret_files.ts";
import { variables } from "../src/settings/variables.ts";

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
    `--allow-read=${["sql", ...filesOf(variables, environment)].join(",")}`,
    // postgres.js looks for PGSSL and the like when it opens a pool.
    `--allow-env=${[...settingNames(), "PG*"].join(",")}`,
  ];
}

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
    `--allow-read=${["sql", ...files].join(",")}`,
    `--allow-env=${[...namesOf(actionsVariables), "PG*", ...trust].join(",")}`,
  ];
}

function filesOf(settings: Readonly<Record<string, unknown>>, environment: Environment): string[] {
  return namesOf(settings)
    .filter((name) => /_(FILE|DIR)$/.test(name))
    .flatMap((name) => environment[name] || (name === "SITE_DIR" ? variables.SITE_DIR.default : []));
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
