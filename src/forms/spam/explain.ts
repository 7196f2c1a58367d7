/** Explains a spam score by the signals and words with the highest weights. This module is browser compatible. */

import { type Family, readFeatures } from "./features.ts";
import {
  foldedCodes,
  type Lessons,
  minimumCounts,
  scoredTexts,
  signalStrength,
  signalWeight,
  weightAt,
} from "./model.ts";
import { parseSubmission, type Submission } from "./parse.ts";
import type { SpamReasonName } from "./reasons.ts";
import { findSignals } from "./score.ts";

/** A signal or phrase, with its share of the evidence for spam as a whole percentage. */
export type Share =
  & { readonly percent: number }
  & ({ readonly reason: SpamReasonName } | { readonly words: string });

const sharesMax = 6;
const phraseWordsMax = 5;
const phraseLengthMax = 100;
/** The number of characters at the start of a text that are explained. */
const explainedLengthMax = 8_000;

/** Returns up to six signals and phrases, highest share first. `receivedAtMs` is by the server's clock. */
export function explainScore(
  submission: Submission,
  receivedAtMs: number,
  lessons: Lessons,
): readonly Share[] {
  const parsed = parseSubmission(submission);
  const texts = scoredTexts(parsed).map((text) => text.slice(0, explainedLengthMax));
  const evidence = [
    ...findSignals(parsed, submission, { receivedAtMs })
      .map((signal) => ({
        weight: signalWeight(signal) * signalStrength(signal[1]),
        share: { reason: signal[0] },
      })),
    ...texts.flatMap((text) => spamPhrases(foldedCodes(text), lessons)),
  ].filter(({ weight }) => weight > 0);
  const total = evidence.reduce((sum, { weight }) => sum + weight, 0);
  return evidence.sort((a, b) => b.weight - a.weight).slice(0, sharesMax)
    .map(({ weight, share }) => ({
      percent: Math.round(100 * weight / total),
      ...("words" in share ? { words: originalSpelling(share.words, texts) } : share),
    }))
    .filter(({ percent }) => percent > 0);
}

/** Returns the folded phrases that indicate spam. */
function spamPhrases(codes: Uint16Array, lessons: Lessons) {
  const words: { readonly from: number; readonly to: number; weight: number }[] = [];
  const weights: { readonly word: number; readonly weight: number; readonly family: Family }[] = [];
  readFeatures(codes, codes.length, {
    feature(bucket, family, from, to, hash) {
      if (to !== words.at(-1)?.to) words.push({ from, to, weight: 0 });
      const learned = family === 0 ? lessons.get(hash) ?? 0 : 0;
      weights.push({ word: words.length - 1, weight: weightAt(bucket) + learned, family });
    },
    word() {},
  });
  const strengths = minimumCounts.map((minimum, family) =>
    1 / Math.sqrt(Math.max(minimum, weights.filter((weight) => weight.family === family).length))
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

/** Returns a folded phrase as spelled in the texts, or its folded words if no text contains it. */
function originalSpelling(phrase: string, texts: readonly string[]): string {
  const words = phrase.trim().split(/[ .@]+/);
  const spelling = new RegExp(words.join("[^\\p{L}\\p{N}]+"), "iu");
  return texts.map((text) => spelling.exec(text)?.[0]).find((match) => match !== undefined) ??
    words.join(" ");
}
