/**
 * Text that repeats itself. This module is browser compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";
import { wordIn } from "./terms.ts";

/** Short answers that people give to several questions. */
const isShrug = wordIn(({ shrugs }) => shrugs);
const letterRun = /(\p{L})\1{11}/u;
const sentenceEnd = /[.!?…\n]+/;

/** Scores repetition: inside a text, and of one text over several fields. */
export function scoreRepeats(reading: Reading): readonly SpamReason[] {
  return [
    {
      name: "repeated_text",
      points: Math.max(0, ...reading.map(({ folded, words }) => repeatPoints(folded, words))),
    },
    { name: "same_value", points: sameValuePoints(reading) },
  ];
}

function repeatPoints(folded: string, words: readonly string[]): number {
  const sentences = new Map<string, number>();
  let repeated = 0;
  for (const part of folded.split(sentenceEnd)) {
    const sentence = part.trim();
    if (sentence.length < 12) continue;
    const count = (sentences.get(sentence) ?? 0) + 1;
    sentences.set(sentence, count);
    repeated = Math.max(repeated, count);
  }
  // Twice is a slip of the hand that pasted.
  const bySentence = repeated >= 5 ? 50 : repeated >= 3 ? 30 : 0;
  const byLetter = letterRun.test(folded) ? 20 : 0;
  return Math.max(bySentence, byLetter, wordPoints(words));
}

/** Few different words in a long text, or one word many times in a row. */
function wordPoints(words: readonly string[]): number {
  let run = 1;
  let longest = 1;
  for (let at = 1; at < words.length; at++) {
    run = words[at] === words[at - 1] ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  if (longest >= 10) return 50;
  if (longest >= 8) return 40;
  if (words.length >= 30 && new Set(words).size * 4 < words.length) return 40;
  return longest >= 5 ? 15 : 0;
}

function sameValuePoints(reading: Reading): number {
  const rolesByText = new Map<string, { roles: Set<string>; count: number }>();
  for (const { role, words } of reading) {
    const text = words.join(" ");
    if (text.length < 4 || isShrug(text) || role === "email" || role === "link") continue;
    const seen = rolesByText.get(text) ?? { roles: new Set<string>(), count: 0 };
    seen.roles.add(role);
    seen.count++;
    rolesByText.set(text, seen);
  }
  let most = 0;
  for (const { roles, count } of rolesByText.values()) {
    const isNameElsewhere = roles.has("name") &&
      (roles.has("message") || roles.has("phone") || roles.has("place"));
    if (roles.size >= 3 && isNameElsewhere) most = Math.max(most, 50);
    else if (isNameElsewhere) most = Math.max(most, 28);
    else if (roles.size >= 3 || count >= 5) most = Math.max(most, 20);
  }
  return most;
}
