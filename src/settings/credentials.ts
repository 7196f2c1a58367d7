/** Reads systemd's credentials (`LoadCredential=` and others): one file per secret, named after its setting. */

import { existsSync, readdirSync } from "node:fs";
import { ConfigError } from "./reader.ts";
import { secretNames } from "./secret_files.ts";

/** The variable that contains the path of the folder with the credentials. */
export const credentialsName = "CREDENTIALS_DIRECTORY";

// The units load a folder under this id, which systemd adds before each file name.
const prefix = "lead_";

/**
 * Adds the files' paths to the environment: `lead_DATABASE_URL` as `DATABASE_URL_FILE`, `lead_TLS_KEY_FILE` as
 * `TLS_KEY_FILE`. Keeps existing settings. A misnamed file becomes an unknown setting, which is reported.
 *
 * @throws {ConfigError} if the files cannot be listed
 */
export function addCredentialFiles(environment: Record<string, string | undefined>): void {
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
