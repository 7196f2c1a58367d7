/** Converts the names of members to snake_case for JSON, in plain objects and arrays, recursively. */
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
