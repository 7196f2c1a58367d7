/** Finds misspelled settings, which would otherwise have no effect. */

import { likelyName } from "../contract/likely_name.ts";
import { actionsVariables } from "./actions_variables.ts";
import type { Environment } from "./reader.ts";
import { secretNames } from "./secret_files.ts";
import { variables } from "./variables.ts";

/** All known names, including those of the other process, whose settings may be in the same file. */
const known: readonly string[] = [
  ...Object.keys(variables),
  ...Object.keys(actionsVariables),
  ...secretNames.map((name) => `${name}_FILE`),
];

/** Names with our prefixes that other software sets. */
const foreign: readonly RegExp[] = [
  // Many programs have DATABASE_ variables.
  /^DATABASE_/,
  // Our clients and the payment provider's tools use these.
  /^(INTAKE|FORMS|STRIPE)_API_KEY$/,
  // GitHub's runners set these.
  /^ACTIONS_(RUNTIME|CACHE|RESULTS|ID_TOKEN|ORCHESTRATION|RUNNER|STEP)_/,
  // Kubernetes and container links set these for a service named intake, forms, site and so on.
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/,
];

/** Kubernetes' `NAME_PORT`, which could also be a misspelling, so its value must be the URL of a service. */
const kubernetesPort = { name: /_PORT$/, value: /^(tcp|udp|sctp):\/\// };

const prefixes = new Set(
  known.filter((name) => name.includes("_") && !/^DATABASE_/.test(name)).map((name) =>
    `${name.split("_")[0]}_`
  ),
);

/**
 * Returns one sentence per unknown variable with one of our prefixes: with the likely name, if any, and without the value.
 * Empty variables count as unset. Deno with `--allow-env=…` cannot list variables, so none are found there.
 *
 * Source: DECISIONS, Decided since (Misspelled settings).
 */
export function unknownSettings(environment: Environment): string[] {
  return variableNames(environment)
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
  return foreign.some((pattern) => pattern.test(name)) ||
    (kubernetesPort.name.test(name) && kubernetesPort.value.test(value));
}

function variableNames(environment: Environment): string[] {
  try {
    return Object.keys(environment);
  } catch (error) {
    if ((error as Error).name === "NotCapable") return [];
    throw error;
  }
}
