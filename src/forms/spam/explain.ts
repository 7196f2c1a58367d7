/**
 * What weighs most in a score, for the operator: signs by name, and words of the text itself. This module is browser
 * compatible.
 *
 * @module
 */

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

/** A part of what speaks for spam, in whole percent of all that does. */
export type Share =
  & { readonly percent: number }
  & ({ readonly reason: SpamReasonName } | { readonly words: string });

const sharesMax = 6;
const phraseWordsMax = 5;
/** Of a longer text the beginning is explained. */
const explainedMax = 8_000;

/** The signs and phrases that weigh most, heaviest first, at most six. `receivedAtMs` is of the server's clock. */
export function explainScore(
  submission: Submission,
  receivedAtMs: number,
  lessons: Lessons,
): readonly Share[] {
  const reading = readSubmission(submission);
  const { messages, answers } = textsOf(reading);
  const found = [
    ...signsOf(reading, submission, { receivedAtMs }).map((sign) => ({
      weight: weightOfSign(sign) * strengthOf(sign[1]),
      what: { reason: sign[0] },
    })),
    ...[...messages, ...answers].flatMap((text) => phrasesOf(text.slice(0, explainedMax), lessons)),
  ].filter(({ weight }) => weight > 0);
  const all = found.reduce((sum, { weight }) => sum + weight, 0);
  return found.sort((a, b) => b.weight - a.weight).slice(0, sharesMax)
    .map(({ weight, what }) => ({ percent: Math.round(100 * weight / all), ...what }))
    .filter(({ percent }) => percent > 0);
}

interface Phrase {
  readonly weight: number;
  readonly what: { readonly words: string };
}

/** The runs of words that speak for spam, spelled as in the text where it is spelled plainly. */
function phrasesOf(text: string, lessons: Lessons): Phrase[] {
  const codes = foldedCodes(text).slice();
  const words: { readonly from: number; readonly to: number; weight: number }[] = [];
  const weights: { word: { weight: number }; weight: number; family: Family }[] = [];
  let current = { from: 0, to: 0, weight: 0 };
  readFeatures(codes, codes.length, {
    feature(place, family, from, to, hash) {
      if (to !== current.to) words.push(current = { from, to, weight: 0 });
      const taught = family === 0 ? lessons.get(hash) ?? 0 : 0;
      weights.push({ word: current, weight: weightAt(place) + taught, family });
    },
    word() {},
  });
  const strengths = leastCounts.map((least, family) =>
    1 / Math.sqrt(Math.max(least, weights.filter((one) => one.family === family).length))
  );
  for (const { word, weight, family } of weights) word.weight += weight * (strengths[family] as number);
  const phrases: Phrase[] = [];
  for (let start = 0; start < words.length;) {
    const stop = words.findIndex(({ weight }, at) => at >= start && weight <= 0);
    const run = words.slice(start, Math.min(start + phraseWordsMax, stop < 0 ? words.length : stop));
    start += Math.max(1, run.length);
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) continue;
    const spoken = String.fromCharCode(...codes.subarray(first.from, last.to)).split(/[ .@]+/);
    const [plain = spoken.join(" ")] = new RegExp(spoken.join("[^\\p{L}\\p{N}]+"), "iu").exec(text) ?? [];
    phrases.push({ weight: run.reduce((sum, { weight }) => sum + weight, 0), what: { words: plain } });
  }
  return phrases;
}
