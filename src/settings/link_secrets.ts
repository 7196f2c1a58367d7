/** The secret of links in digests: the actions process signs them, the forms' listener verifies them. */

import type { SettingsReader } from "./reader.ts";

/** Shorter secrets could be guessed. */
const lengthMin = 32;

/** The secrets, the signing one first. */
export function readLinkSecrets(read: SettingsReader<"FORMS_LINK_SECRET">): readonly string[] {
  const text = read.text("FORMS_LINK_SECRET");
  if (text === null) return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  if (secrets.some(({ length }) => length < lengthMin)) {
    read.faults.push(
      `FORMS_LINK_SECRET is not ${lengthMin} characters or more, or two such texts with a comma between them`,
    );
  }
  return secrets;
}
