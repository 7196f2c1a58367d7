/** Reads the syntax of a recipe's expressions without evaluating them. */

import jsonata from "jsonata";
import type { Step } from "./crm/recipe.ts";

/** An expression of a recipe, with its place for messages. */
export interface PlacedExpression {
  readonly at: string;
  readonly text: string;
  readonly member: "when" | "url" | "headers" | "json" | "form" | "outcome" | "keep";
}

/** Returns a step's expressions. */
export function stepExpressions(
  { name, when, url, headers = {}, json, form, outcome, keep }: Step,
): PlacedExpression[] {
  const one = (member: PlacedExpression["member"], text: string | undefined) =>
    text === undefined ? [] : [{ at: `step ${name}, ${member}`, text, member }];
  return [
    ...one("when", when),
    ...one("url", url),
    ...Object.entries(headers).map(([header, text]) =>
      ({ at: `step ${name}, headers.${header}`, text, member: "headers" }) as const
    ),
    ...one("json", json),
    ...one("form", form),
    ...one("outcome", outcome),
    ...one("keep", keep),
  ];
}

// deno-lint-ignore no-explicit-any
export type Node = any;

/** Parses an expression; returns the message and the place (from 1) of a fault. */
export function parseExpression(
  text: string,
): { readonly node: Node } | { readonly message: string; readonly position: number | null } {
  try {
    return { node: jsonata(text).ast() };
  } catch (error) {
    const { message, position = null } = error as { message: string; position?: number };
    return { message, position };
  }
}

/** Returns all nodes of an expression. */
function nodesOf(node: Node): Node[] {
  if (node === null || typeof node !== "object") return [];
  return [node, ...Object.values(node).flatMap((child) => nodesOf(child))];
}

export function parsedNodes(text: string): Node[] {
  const parsed = parseExpression(text);
  return "node" in parsed ? nodesOf(parsed.node) : [];
}

/** Returns the names that an expression reads of an object such as `settings`, with their places. */
export function membersRead(
  text: string,
  object: string,
): { readonly name: string; readonly position: number }[] {
  return parsedNodes(text).flatMap(({ type, steps }: Node) => {
    if (type !== "path" || steps[0]?.type !== "name" || steps[0].value !== object) return [];
    return steps[1]?.type === "name" ? [{ name: steps[1].value, position: steps[1].position }] : [];
  });
}

/**
 * Returns the names that an expression reads of its input itself, with their places. Names that are relative to another value,
 * in the later steps, predicates and groups of a path and in a transform, are left out.
 */
export function rootsRead(node: Node): { readonly name: string; readonly position: number }[] {
  if (node === null || typeof node !== "object" || node.type === "transform") return [];
  if (node.type === "name") return [{ name: node.value, position: node.position }];
  if (node.type === "path") return rootsRead(node.steps[0]);
  return Object.entries(node).flatMap(([part, child]) =>
    /^(?:predicate|stages|group)$/.test(part) ? [] : rootsRead(child)
  );
}

/** Returns the names that a `keep` expression keeps; `null` if it is not an object with literal names. */
export function readKeptNames(keep: string): string[] | null {
  const parsed = parseExpression(keep);
  if (!("node" in parsed) || parsed.node.type !== "unary" || parsed.node.value !== "{") return null;
  const names = parsed.node.lhs.map(([name]: [Node]) => name.type === "string" ? name.value : null);
  return names.includes(null) ? null : names;
}

/** Returns the names that a step keeps. */
export function keptNames(keep: string): string[] {
  return keep === "" ? [] : readKeptNames(keep) ?? [];
}
