/**
 * Keys that cannot be told apart: two active ones of one tenant and surface with one label. It is how a key is replaced,
 * and a door left open when the first is never revoked.
 *
 * @module
 */

import type { ListedKey } from "#src/store/operator/api_keys.ts";
import { safe, shortTime } from "./terminal.ts";

/** A sentence for each label that several active keys have, or `undefined`; with `id` only for that key's. */
export function twinWarning(keys: readonly ListedKey[], id?: string): string | undefined {
  const active = keys.filter(({ revokedAt }) => revokedAt === null);
  const groups = Map.groupBy(
    active,
    ({ tenant, surface, label }) => JSON.stringify([tenant, surface, label]),
  );
  const lines = [...groups.values()]
    .filter((group) => group.length > 1 && (id === undefined || group.some((key) => key.id === id)))
    .map(sentence);
  return lines.length === 0 ? undefined : lines.join("\n");
}

function sentence(group: readonly ListedKey[]): string {
  const [{ tenant, surface, label } = { tenant: "", surface: "", label: "" }] = group;
  const each = group.map((key) => {
    const used = key.lastUsedAt === null ? "never used" : `last used ${shortTime(key.lastUsedAt)}`;
    return `${key.id} (…${key.last4}, ${used})`;
  });
  return `Warning: ${group.length} active keys of ${tenant} have the ${surface} source "${safe(label)}": ${
    each.join(", ")
  }. Once the sender has changed over: ctl key revoke ID`;
}
