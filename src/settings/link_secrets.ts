/** Reads the secrets for links in digests, which the actions process signs and the forms' listener verifies. */

import type { SettingsReader } from "./reader.ts";

// Shorter secrets could be guessed.
const lengthMin = 32;

/** Returns the secrets; the first one signs new links. */
export function readLinkSecrets(read: SettingsReader<"FORMS_LINK_SECRET">): readonly string[] {
  const text = read.text("FORMS_LINK_SECRET");
  if (text === null) return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  if (secrets.some(({ length }) => length < lengthMin)) {
    read.faults.push(
      `FORMS_LINK_SECRET must have at least ${lengthMin} characters, or be a comma-separated list of such secrets`,
    );
  }
  return secrets;
}
