/** Reads secrets from files: `NAME_FILE` contains a path instead of `NAME`, for systemd credentials and orchestrators. */

import { readFileSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** The secret settings. Source: DECISIONS, Decided since (Secrets). */
export const secretNames = [
  "DATABASE_URL",
  "DATABASE_LISTEN_URL",
  "ACTIONS_DATABASE_URL",
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "SMTP_URL",
  "FORMS_LINK_SECRET",
] as const;

/** The secrets by setting, and the faults, one sentence each. */
interface SecretFiles {
  readonly secrets: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
}

/** Reads and trims the secrets among `names` that are in files. */
export function readSecretFiles(
  environment: Environment,
  names: readonly string[] = secretNames,
): SecretFiles {
  const secrets: Record<string, string> = {};
  const faults: string[] = [];
  for (const name of secretNames.filter((one) => names.includes(one))) {
    const path = environment[`${name}_FILE`]?.trim();
    if (!path) continue;
    try {
      if (environment[name]?.trim()) throw new Error(`${name} is also set`);
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
 * Replaces `NAME_FILE` variables with their secrets and returns the faults. Keeps a variable whose file cannot be read, or
 * whose `NAME` is also set.
 */
export function loadSecretFiles(environment: Record<string, string | undefined>): readonly string[] {
  const { secrets, faults } = readSecretFiles(environment);
  for (const [name, secret] of Object.entries(secrets)) {
    environment[name] = secret;
    delete environment[`${name}_FILE`];
  }
  return faults;
}
