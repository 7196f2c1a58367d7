/**
 * The building blocks of an OpenAPI document. This module is browser compatible.
 *
 * @module
 */

/** A part of the document, as plain JSON. */
export type Node = { readonly [name: string]: unknown };

/** A reference to a part that is used in several places. */
export function ref(
  kind: "schemas" | "headers" | "parameters" | "responses" | "examples",
  name: string,
): Node {
  return { $ref: `#/components/${kind}/${name}` };
}

/** An object made of a list's names. */
export function byName<T extends string, V>(names: readonly T[], value: (name: T) => V): Record<T, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<T, V>;
}
