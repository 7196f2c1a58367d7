/**
 * A submission as the score reads it: which field holds what, and its text without disguises. This module is
 * browser compatible.
 *
 * @module
 */

import { technicalFields } from "./data/technical_fields.ts";
import { findLinks, type Link } from "./find_links.ts";
import { foldText, wordsOf } from "./fold.ts";
import type { Locale } from "./locale/locale.ts";
import { wordIn } from "./terms.ts";
import { endsWithin, judgedStepsMax, stepsOf } from "./work.ts";

/** A value of the flat JSON object that a form posts. */
export type FormValue = string | number | boolean | null;

/** What a form posts: values by name. */
export type Submission = ReadonlyMap<string, { readonly value: FormValue }>;

/** What a field holds, by its name; `answer` is anything else that a form asks. */
type FieldRole = keyof Locale["fieldNames"] | "answer";

/** One field that a person may have filled in. */
export interface ReadField {
  readonly role: FieldRole;
  /** As sent, well-formed. */
  readonly text: string;
  /** Without case, accents, full-width and decorative forms, look-alikes and invisible characters. */
  readonly folded: string;
  /** The words of `folded`. */
  readonly words: readonly string[];
  /** The links in `text`, but for those to the site that the form is on. */
  readonly links: readonly Link[];
}

/** A submission's fields that are not blank, in the order of their names. */
export type Reading = readonly ReadField[];

/** By words of a field's name; the first that has one decides. */
const roles: readonly (readonly [FieldRole, (word: string) => boolean])[] =
  (["message", "email", "phone", "link", "company", "place", "name"] as const)
    .map((role) => [role, wordIn(({ fieldNames }) => fieldNames[role])]);

/** A scheme and the longest host there is, with room to spare. */
const pageHostLengthMax = 300;

/** Longer values are free text, whatever the field is called. */
const answerLengthMax = 80;

/** So many fields of a submission are judged. Chosen: no form has as many, and each costs time. */
export const judgedFieldsMax = 200;

/** What a field costs besides its name and its value. */
const fieldSteps = 10;
/** A longer name is judged by its beginning. */
const nameStepsMax = 150;
/** Names may have so much of all the steps: two hundred honest ones do with it. */
const namesShare = 1 / 4;

/**
 * Reads a submission, as far as it is judged: {@linkcode judgedFieldsMax} fields and {@linkcode judgedStepsMax} steps of
 * names and values, shared evenly, so that a long value leaves the short ones whole.
 */
export function readSubmission(submission: Submission): Reading {
  let left = judgedStepsMax;
  const typed: { role: FieldRole; text: string; steps: number }[] = [];
  for (const { name, text } of judgedFields(submission)) {
    const shown = endsWithin(name, nameStepsMax);
    const steps = fieldSteps + stepsOf(shown, nameStepsMax);
    if (left - steps < judgedStepsMax * (1 - namesShare)) break;
    left -= steps;
    const role = roleOf(shown, text);
    if (role !== undefined) typed.push({ role, text, steps: stepsOf(text, judgedStepsMax) });
  }
  const share = sharedSteps(left, typed.map(({ steps }) => steps));
  const ownHost = hostOfPage(submission);
  return typed.map(({ role, text: whole }) => {
    const text = endsWithin(whole, share);
    const folded = foldText(text);
    const links = findLinks(text).filter((link) => ownHost === undefined || link.host !== ownHost);
    return { role, text, folded, words: wordsOf(folded), links };
  });
}

/**
 * The fields that are not blank, the most telling first. Chosen: of more than {@linkcode judgedFieldsMax} those with the
 * longest values, and of equally long ones those that come first.
 */
function judgedFields(submission: Submission): readonly { name: string; text: string }[] {
  const filled: { name: string; text: string }[] = [];
  for (const [name, { value }] of submission.size <= judgedFieldsMax ? submission : longest(submission)) {
    if (value === null || typeof value === "boolean") continue;
    const text = typeof value === "number" ? String(value) : value.toWellFormed().trim();
    if (text !== "") filled.push({ name, text });
  }
  return filled.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

/** Neither sorted nor read, which for thousands of fields took longer than everything else there is to do with them. */
function longest(submission: Submission): [string, { readonly value: FormValue }][] {
  const lengthOf = ({ value }: { readonly value: FormValue }) =>
    typeof value === "string" ? value.length : value === null || typeof value === "boolean" ? 0 : 1;
  const lengths = Uint32Array.from(submission.values(), lengthOf).sort();
  const least = lengths[lengths.length - judgedFieldsMax] as number;
  let alike = judgedFieldsMax - lengths.filter((length) => length > least).length;
  const found: [string, { readonly value: FormValue }][] = [];
  for (const field of submission) {
    const length = lengthOf(field[1]);
    if (length > least || length === least && alike-- > 0) found.push(field);
  }
  return found;
}

/** The most steps that each text may have, so that together they have no more than there are. */
function sharedSteps(all: number, steps: readonly number[]): number {
  let left = all;
  const ascending = steps.toSorted((a, b) => a - b);
  for (const [at, one] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at));
    if (one > share) return share;
    left -= one;
  }
  return judgedStepsMax;
}

/** A person who says which page of the site they mean is not advertising it. */
function hostOfPage(submission: Submission): string | undefined {
  const page = submission.get("page_url")?.value;
  return typeof page === "string" ? findLinks(page.slice(0, pageHostLengthMax))[0]?.host : undefined;
}

/** What a field holds; nothing when it is a technical one. */
function roleOf(name: string, text: string): FieldRole | undefined {
  const words = nameWords(name);
  const joined = words.join("_");
  if (technicalFields.has(joined) || joined.startsWith("utm_") || name.startsWith("_")) {
    // A name of a leading underscore is technical by custom; free text is not.
    return text.length > answerLengthMax && name.startsWith("_") ? "message" : undefined;
  }
  for (const [role, isKnown] of roles) {
    if (!words.some(isKnown)) continue;
    const isFree = (role === "company" || role === "name") && text.length > answerLengthMax;
    return isFree ? "message" : role;
  }
  return text.length > answerLengthMax ? "message" : "answer";
}

/** `firstName`, `first-name` and `fields[First Name]` are all `first`, `name`. */
function nameWords(name: string): readonly string[] {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, "$1 $2");
  return wordsOf(foldText(spaced)).filter((word) => word !== "fields" && !/^\d+$/.test(word));
}
