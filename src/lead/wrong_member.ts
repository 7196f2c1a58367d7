/**
 * Members whose JSON type is wrong. This module is browser compatible.
 *
 * Source: SPEC, Lead envelope; DECISIONS, Decided since.
 *
 * @module
 */

import { fieldNames } from "../contract/fields.ts";
import { type BodyFault, shownName, typeOf } from "./body_fault.ts";
import { isObject } from "./json.ts";

/** A field of the envelope and what is wrong with its type, in words that follow its name. */
export interface WrongType {
  readonly name: string;
  readonly text: string;
}

/** Every member of a lead that has the wrong type. */
export function wrongTypes(envelope: Readonly<Record<string, unknown>>): WrongType[] {
  const found: WrongType[] = [];
  for (const name of fieldNames) {
    const value = envelope[name] ?? null;
    if (value === null || typeof value === "string") continue;
    found.push({
      name,
      text: `is ${typeOf(value)}; a string is needed${typeof value === "number" ? ", in quotes" : ""}`,
    });
  }
  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") {
    const hint = typeof cost === "string" ? ", without quotes" : "";
    found.push({ name: "cost", text: `is ${typeOf(cost)}; a number is needed${hint}` });
  }
  if (extra !== undefined && !isObject(extra)) {
    found.push({ name: "extra", text: `is ${typeOf(extra)}; only an object may be sent` });
  }
  return found;
}

/** What is wrong with the types of a lead's members. */
export function typeFault(envelope: Readonly<Record<string, unknown>>): BodyFault {
  const wrong = wrongTypes(envelope);
  return {
    detail: wrong.map(({ name, text }) => `${name} ${text}`).join(". "),
    reason: `wrong_type ${wrong.map(({ name }) => name).join(" ")}`,
  };
}

/** What is wrong with a body of which a member, with this name and value, is not flat. */
export function nestedFault(name: string, value: unknown): BodyFault {
  return {
    detail: `${shownName(name)} is ${typeOf(value)}; text, a number, true, false or null is needed`,
    reason: "nested_value",
  };
}
