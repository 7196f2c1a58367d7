/**
 * What the service may do when it runs on Deno: the narrowest flags that it works with. The tests start it with
 * these, and the README quotes them.
 *
 * @module
 */

import { variables } from "../src/config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags of `deno run` for `src/main.ts`, started in the repository's folder: the network, its settings, and
 * the files that it reads: `sql/`, and what the environment names as a file or folder.
 */
export function denoFlags(environment: Environment = {}): string[] {
  const files = Object.keys(variables)
    .filter((name) => /_(FILE|DIR)$/.test(name))
    .flatMap((name) => environment[name] || []);
  return [
    "--no-prompt",
    "--cached-only",
    "--allow-net",
    `--allow-read=${["sql", ...files].join(",")}`,
    // postgres.js looks for PGSSL and the like when it opens a pool.
    `--allow-env=${[...settingNames(), "PG*"].join(",")}`,
  ];
}

/** The names of the settings; several that begin alike are one pattern, so that a person can read the command. */
function settingNames(): string[] {
  const groups = Map.groupBy(Object.keys(variables), (name) => name.replace(/_.*/, "_*"));
  return [...groups].map(([pattern, names]) => names.length === 1 ? names[0] as string : pattern);
}
