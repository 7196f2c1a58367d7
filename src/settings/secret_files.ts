/**
 * Secrets that stand in files, as systemd's credentials and orchestrators hand them out: instead of `NAME` the
 * environment has `NAME_FILE`, a path.
 *
 * @module
 */

import { readFileSync } from "node:fs";

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The settings that are secret. Source: DECISIONS, Decided since (Secrets). */
export const secretNames = [
  "DATABASE_URL",
  "DATABASE_LISTEN_URL",
  "ACTIONS_DATABASE_URL",
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "SMTP_URL",
  "FORMS_LINK_SECRET",
] as const;

/** What stood in files, by the name of the setting, and what is wrong, one sentence each. */
export interface FiledSecrets {
  readonly secrets: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
}

/**
 * Reads those of the named settings that are secret and in files. A file is read once, here, and white space around its
 * text is no part of it.
 */
export function readSecretFiles(
  environment: Environment,
  names: readonly string[] = secretNames,
): FiledSecrets {
  const secrets: Record<string, string> = {};
  const faults: string[] = [];
  for (const name of secretNames.filter((one) => names.includes(one))) {
    const path = environment[`${name}_FILE`]?.trim();
    if (!path) continue;
    try {
      if (environment[name]?.trim()) throw new Error(`${name} is set too`);
      secrets[name] = readFileSync(path, "utf8").trim();
      if (secrets[name] === "") throw new Error(`${path} is empty`);
    } catch (error) {
      const { code, name: kind, message } = error as Error & { code?: string };
      const why = kind === "NotCapable" ? "Deno needs it in --allow-read" : code;
      faults.push(`${name}_FILE: ${why === undefined ? message : `${path} cannot be read (${why})`}`);
    }
  }
  return { secrets, faults };
}

/**
 * Puts the secrets that stand in files among the variables, for whoever hands these on. Returns what is wrong with the
 * files; those that have a fault stay as they are.
 */
export function takeSecrets(environment: Record<string, string | undefined>): readonly string[] {
  const { secrets, faults } = readSecretFiles(environment);
  for (const [name, secret] of Object.entries(secrets)) {
    environment[name] = secret;
    delete environment[`${name}_FILE`];
  }
  return faults;
}
