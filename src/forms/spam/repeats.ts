/**
 * Text that repeats itself, and text that several forms were sent. This module is browser compatible.
 *
 * @module
 */

import type { ReadField, Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";

const letterRun = /(\p{L})\1{11}/u;
const sentenceEnd = /[.!?…\n]+/;

/** Repetition inside a text, and of one text over several fields. */
export function repeatSigns({ fields }: Reading): readonly Sign[] {
  return [["repeated_text", fields.some(isRepetitive)], ["same_value", isSameElsewhere(fields)]];
}

function isRepetitive({ shown, words }: ReadField): boolean {
  if (letterRun.test(shown)) return true;
  const sentences = new Map<string, number>();
  for (const part of shown.toLowerCase().split(sentenceEnd)) {
    const sentence = part.trim();
    if (sentence.length < 12) continue;
    const count = (sentences.get(sentence) ?? 0) + 1;
    // Twice is a slip of the hand that pasted.
    if (count === 3) return true;
    sentences.set(sentence, count);
  }
  let run = 1;
  for (let at = 1; at < words.length; at++) {
    run = words[at] === words[at - 1] ? run + 1 : 1;
    if (run === 6) return true;
  }
  return words.length >= 30 && new Set(words).size * 4 < words.length;
}

/** A name that is the message or the phone number too; people answer several questions with "yes". */
function isSameElsewhere(fields: readonly ReadField[]): boolean {
  const names = new Set(fields.filter(({ role }) => role === "name").map(({ folded }) => folded.trim()));
  return fields.some(({ role, folded }) =>
    (role === "message" || role === "phone" || role === "place") && folded.length >= 4 &&
    names.has(folded.trim())
  );
}
