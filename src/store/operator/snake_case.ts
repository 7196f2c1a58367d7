/**
 * The names of JSON: what a row of ours calls `lastUsedAt` a reader of JSON finds as `last_used_at`.
 *
 * @module
 */

/** A plain object, or a list of them, with the names of JSON, members within members too; all else is as it was. */
export function snakeCased<T>(value: T): T extends readonly unknown[] ? unknown[] : Record<string, unknown>;
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeCased(member),
    ]),
  );
}
