/** Secrets in files: `NAME_FILE` with a path instead of `NAME`, for systemd's credentials and orchestrators. */

import { readFileSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** Secret settings. Source: DECISIONS, Decided since (Secrets). */
export const secretNames = [
  "DATABASE_URL",
  "DATABASE_LISTEN_URL",
  "ACTIONS_DATABASE_URL",
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "SMTP_URL",
  "FORMS_LINK_SECRET",
] as const;

/** Secrets by setting, and faults, one sentence each. */
export interface FiledSecrets {
  readonly secrets: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
}

/**
 * Reads the named secret settings that are in files, without surrounding white space.
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
 * Replaces `NAME_FILE` variables by their secrets. Returns the faults; faulty ones stay.
 */
export function takeSecrets(environment: Record<string, string | undefined>): readonly string[] {
  const { secrets, faults } = readSecretFiles(environment);
  for (const [name, secret] of Object.entries(secrets)) {
    environment[name] = secret;
    delete environment[`${name}_FILE`];
  }
  return faults;
}
