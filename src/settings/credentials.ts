/**
 * Secrets that systemd hands over (`LoadCredential=`, `LoadCredentialEncrypted=`): a file each, which only this process can
 * read, named after its setting.
 *
 * @module
 */

import { existsSync, readdirSync } from "node:fs";
import { ConfigError } from "./reader.ts";
import { secretNames } from "./secret_files.ts";

/** Where systemd has put them. */
export const credentialsName = "CREDENTIALS_DIRECTORY";

// The units load a folder under this name, and systemd puts it before each file's.
const prefix = "lead_";

/**
 * Has the settings name the files: `lead_DATABASE_URL` becomes `DATABASE_URL_FILE`, and `lead_TLS_KEY_FILE` becomes
 * `TLS_KEY_FILE`. What is set already stays. A file that is named after nothing becomes a setting that nobody knows, which
 * stops the start with the likely name.
 *
 * @throws {ConfigError} when they cannot be listed
 */
export function takeCredentials(environment: Record<string, string | undefined>): void {
  const folder = environment[credentialsName];
  if (!folder) return;
  let files: string[];
  try {
    files = existsSync(folder) ? readdirSync(folder) : [];
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    throw new ConfigError([`${credentialsName} cannot be listed (${code ?? name})`]);
  }
  for (const file of files.filter((name) => name.startsWith(prefix))) {
    const setting = file.slice(prefix.length);
    const isSecret = secretNames.some((name) => name === setting);
    const name = isSecret ? `${setting}_FILE` : setting;
    if (environment[name] || environment[setting]) continue;
    environment[name] = `${folder}/${file}`;
  }
}
