/**
 * Finds settings that are misspelled: a name that nobody reads would otherwise be a limit that is not set.
 *
 * @module
 */

import { likelyName } from "../contract/likely_name.ts";
import { actionsVariables } from "./actions_variables.ts";
import type { Environment } from "./reader.ts";
import { variables } from "./variables.ts";

/** What {@linkcode variables} and {@linkcode actionsVariables} have; either process may be given the other's. */
const known: readonly string[] = [...Object.keys(variables), ...Object.keys(actionsVariables)];

// Half the world's programs have a DATABASE_ something of their own; in the other our forms brief tells a website to keep
// its key, and a shell may have both.
const foreign = /^DATABASE_|^FORMS_API_KEY$/;

const prefixes = new Set(
  known.filter((name) => name.includes("_") && !foreign.test(name)).map((name) => `${name.split("_")[0]}_`),
);

/**
 * One sentence for each variable that begins like one of ours and is none, with the likely name; its value is not
 * repeated. An empty variable counts as unset.
 *
 * A runtime that lets this process see only the variables that it names (Deno with `--allow-env=…`) cannot list them:
 * then nothing is found.
 *
 * Source: DECISIONS, Decided since (Misspelled settings).
 */
export function unknownSettings(environment: Environment): string[] {
  return namesOf(environment)
    .filter((name) =>
      !known.includes(name) && environment[name]?.trim() && isOurs(name) && !foreign.test(name)
    )
    .map((name) => {
      const likely = likelyName(name, known);
      return likely === null
        ? `${name} is no setting; docs/configuration.md lists them`
        : `${name} is no setting; ${likely} is one`;
    });
}

function isOurs(name: string): boolean {
  return [...prefixes].some((prefix) => name.toUpperCase().startsWith(prefix));
}

function namesOf(environment: Environment): string[] {
  try {
    return Object.keys(environment);
  } catch (error) {
    if ((error as Error).name === "NotCapable") return [];
    throw error;
  }
}
