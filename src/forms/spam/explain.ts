/** Explains a score to the operator: the heaviest signs and words. This module is browser compatible. */

import { type Family, readFeatures } from "./features.ts";
import {
  foldedCodes,
  leastCounts,
  type Lessons,
  strengthOf,
  textsOf,
  weightAt,
  weightOfSign,
} from "./model.ts";
import { readSubmission, type Submission } from "./reading.ts";
import type { SpamReasonName } from "./reasons.ts";
import { signsOf } from "./score.ts";

/** A share, in whole percent, of everything that indicates spam. */
export type Share =
  & { readonly percent: number }
  & ({ readonly reason: SpamReasonName } | { readonly words: string });

const sharesMax = 6;
const phraseWordsMax = 5;
const phraseLengthMax = 100;
/** Only the beginning of a longer text is explained. */
const explainedMax = 8_000;

/** The heaviest signs and phrases, heaviest first, at most six. `receivedAtMs` is by the server's clock. */
export function explainScore(
  submission: Submission,
  receivedAtMs: number,
  lessons: Lessons,
): readonly Share[] {
  const reading = readSubmission(submission);
  const { messages, answers } = textsOf(reading);
  const texts = [...messages, ...answers].map((text) => text.slice(0, explainedMax));
  const found = [
    ...signsOf(reading, submission, { receivedAtMs })
      .map((sign) => ({ weight: weightOfSign(sign) * strengthOf(sign[1]), share: { reason: sign[0] } })),
    ...texts.flatMap((text) => phrasesOf(foldedCodes(text), lessons)),
  ].filter(({ weight }) => weight > 0);
  const all = found.reduce((sum, { weight }) => sum + weight, 0);
  return found.sort((a, b) => b.weight - a.weight).slice(0, sharesMax)
    .map(({ weight, share }) => ({
      percent: Math.round(100 * weight / all),
      ...("words" in share ? { words: spelledAs(share.words, texts) } : share),
    }))
    .filter(({ percent }) => percent > 0);
}

/** Folded phrases that indicate spam. */
function phrasesOf(codes: Uint16Array, lessons: Lessons) {
  const words: { readonly from: number; readonly to: number; weight: number }[] = [];
  const weights: { readonly word: number; readonly weight: number; readonly family: Family }[] = [];
  readFeatures(codes, codes.length, {
    feature(place, family, from, to, hash) {
      if (to !== words.at(-1)?.to) words.push({ from, to, weight: 0 });
      const taught = family === 0 ? lessons.get(hash) ?? 0 : 0;
      weights.push({ word: words.length - 1, weight: weightAt(place) + taught, family });
    },
    word() {},
  });
  const strengths = leastCounts.map((least, family) =>
    1 / Math.sqrt(Math.max(least, weights.filter((one) => one.family === family).length))
  );
  for (const { word, weight, family } of weights) {
    (words[word] as { weight: number }).weight += weight * (strengths[family] as number);
  }
  const phrases: { weight: number; readonly share: { words: string } }[] = [];
  let length = 0;
  for (const { from, to, weight } of words) {
    length = weight > 0 ? length % phraseWordsMax + 1 : 0;
    if (length === 1) phrases.push({ weight: 0, share: { words: "" } });
    const phrase = phrases.at(-1);
    if (length === 0 || phrase === undefined) continue;
    phrase.weight += weight;
    phrase.share.words += String.fromCharCode(
      ...codes.subarray(from, Math.min(to, from + phraseLengthMax)),
      32,
    );
  }
  return phrases;
}

/** A folded phrase as a text spells it. */
function spelledAs(phrase: string, texts: readonly string[]): string {
  const words = phrase.trim().split(/[ .@]+/);
  const spelling = new RegExp(words.join("[^\\p{L}\\p{N}]+"), "iu");
  return texts.map((text) => spelling.exec(text)?.[0]).find((found) => found !== undefined) ??
    words.join(" ");
}
