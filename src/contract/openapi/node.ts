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

/**
 * Text of an answer that is one of these today.
 *
 * Chosen: no `enum`, because generated clients throw on a value that is new to them, and a list that may grow must not
 * break them; `x-extensible-enum` says the same to readers and to this service's own tests.
 */
export function oneOfToday(values: readonly string[], rest: Node = {}): Node {
  return { type: "string", "x-extensible-enum": values, ...rest };
}

/** JSON as content, with its example or examples. */
export function jsonOf(schema: Node, rest: Node = {}): Readonly<Record<string, Node>> {
  return { "application/json": { schema, ...rest } };
}
