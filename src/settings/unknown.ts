/** Finds misspelled settings, which would otherwise be ignored. */

import { likelyName } from "../contract/likely_name.ts";
import { actionsVariables } from "./actions_variables.ts";
import type { Environment } from "./reader.ts";
import { secretNames } from "./secret_files.ts";
import { variables } from "./variables.ts";

/** All known names; either process may have the other's. */
const known: readonly string[] = [
  ...Object.keys(variables),
  ...Object.keys(actionsVariables),
  ...secretNames.map((name) => `${name}_FILE`),
];

/** Names with our prefixes that other software sets. */
const foreign: readonly RegExp[] = [
  // Many programs have a DATABASE_ variable.
  /^DATABASE_/,
  // Variables of our clients and of the payment provider's tools.
  /^(INTAKE|FORMS|STRIPE)_API_KEY$/,
  // GitHub's runners set these.
  /^ACTIONS_(RUNTIME|CACHE|RESULTS|ID_TOKEN|ORCHESTRATION|RUNNER|STEP)_/,
  // Kubernetes and container links describe a service named intake, forms, site and so on.
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/,
];

/** The same for possible misspellings, recognized by a value that is a service's URL. */
const neighbour = { name: /_PORT$/, value: /^(tcp|udp|sctp):\/\// };

const prefixes = new Set(
  known.filter((name) => name.includes("_") && !/^DATABASE_/.test(name)).map((name) =>
    `${name.split("_")[0]}_`
  ),
);

/**
 * One sentence per unknown variable with one of our prefixes, with the likely name and without its value. Empty variables
 * count as unset. Deno with `--allow-env=…` cannot list variables, so it finds nothing there.
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
        ? `${name} is not a setting; docs/configuration.md lists them`
        : `${name} is not a setting; did you mean ${likely}?`;
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
