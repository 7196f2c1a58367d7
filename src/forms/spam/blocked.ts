/**
 * The form's own blocked words. This module is browser compatible.
 *
 * @module
 */

import { foldText, wordsOf } from "./fold.ts";
import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";

/** One blocked word is enough for the usual threshold. */
const blockedPoints = 50;
/** Written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** A form's blocked words, to be looked up by each word of a text. */
interface Blocked {
  readonly byFirst: ReadonlyMap<
    string,
    readonly { readonly text: string; readonly words: readonly string[] }[]
  >;
  readonly anywhere: readonly string[];
}

/** Forms are read anew every few seconds, and hold up to five hundred words. */
const indexes = new WeakMap<readonly string[], Blocked>();

/** Scores the blocked words: {@linkcode blockedPoints} for each different one that occurs. */
export function scoreBlockedWords(reading: Reading, blocked: readonly string[]): readonly SpamReason[] {
  const { byFirst, anywhere } = indexBlocked(blocked);
  const found = new Set(anywhere.filter((phrase) => reading.some(({ folded }) => folded.includes(phrase))));
  for (const { words } of byFirst.size === 0 ? [] : reading) {
    for (const [at, word] of words.entries()) {
      for (const phrase of byFirst.get(word) ?? []) {
        if (phrase.words.every((one, offset) => one === words[at + offset])) found.add(phrase.text);
      }
    }
  }
  return [{ name: "blocked_words", points: found.size * blockedPoints }];
}

function indexBlocked(blocked: readonly string[]): Blocked {
  const known = indexes.get(blocked);
  if (known !== undefined) return known;
  const byFirst = new Map<string, { text: string; words: readonly string[] }[]>();
  const anywhere: string[] = [];
  for (const phrase of new Set(blocked.map((one) => foldText(one.toWellFormed()).trim()))) {
    const words = wordsOf(phrase);
    const [first] = words;
    if (first !== undefined && !unspaced.test(phrase)) {
      byFirst.set(first, [...byFirst.get(first) ?? [], { text: words.join(" "), words }]);
    } else if (phrase !== "") anywhere.push(phrase);
  }
  const index = { byFirst, anywhere };
  indexes.set(blocked, index);
  return index;
}
