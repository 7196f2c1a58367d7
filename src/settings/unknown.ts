/**
 * Finds settings that are misspelled: a name that nobody reads would otherwise be a limit that is not set.
 *
 * @module
 */

import { likelyName } from "../contract/likely_name.ts";
import { actionsVariables } from "./actions_variables.ts";
import type { Environment } from "./reader.ts";
import { secretNames } from "./secret_files.ts";
import { variables } from "./variables.ts";

/** What {@linkcode variables} and {@linkcode actionsVariables} have; either process may be given the other's. */
const known: readonly string[] = [
  ...Object.keys(variables),
  ...Object.keys(actionsVariables),
  ...secretNames.map((name) => `${name}_FILE`),
];

/** Names that begin like ours and that others give, many of them to processes whose people never see them. */
const foreign: readonly RegExp[] = [
  // Half the world's programs have a DATABASE_ something of their own.
  /^DATABASE_/,
  // A shell may have what a client of ours reads, or a tool of the payment provider.
  /^(INTAKE|FORMS|STRIPE)_API_KEY$/,
  // A runner of GitHub's gives these to every step.
  /^ACTIONS_(RUNTIME|CACHE|RESULTS|ID_TOKEN|ORCHESTRATION|RUNNER|STEP)_/,
  // Kubernetes and linked containers tell of a neighbour that is called intake, forms, site and so on.
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/,
];

/** The same, of a name that might be a misspelling too: a neighbour's address, where a person writes a number. */
const neighbour = { name: /_PORT$/, value: /^(tcp|udp|sctp):\/\// };

const prefixes = new Set(
  known.filter((name) => name.includes("_") && !/^DATABASE_/.test(name)).map((name) =>
    `${name.split("_")[0]}_`
  ),
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
    .filter((name) => {
      const value = environment[name]?.trim();
      return value && !known.includes(name) && isOurs(name) && !isForeign(name, value);
    })
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

function isForeign(name: string, value: string): boolean {
  return foreign.some((shape) => shape.test(name)) ||
    (neighbour.name.test(name) && neighbour.value.test(value));
}

function namesOf(environment: Environment): string[] {
  try {
    return Object.keys(environment);
  } catch (error) {
    if ((error as Error).name === "NotCapable") return [];
    throw error;
  }
}
