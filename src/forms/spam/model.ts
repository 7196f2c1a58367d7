/** Applies the model that `scripts/train_spam.ts` trains. This module is browser compatible. */

import { bucketCount, familyCount, readFeatures } from "./features.ts";
import { foldInto } from "./fold.ts";
import { fieldsWithRole, type ParsedSubmission } from "./parse.ts";
import type { Signal } from "./reasons.ts";
import { model } from "./weights.ts";

/** The number of words per section. The most spam-like section determines the score, so that padding cannot hide spam. */
const sectionWordCount = 120;
/** The minimum number of words in the last section; a shorter one is merged into the previous section. */
const lastSectionWordsMin = 40;
/** The maximum total length of answers that are scored together with the messages. */
const answersLengthMax = 400;

/** Per family: the sum of weights is divided by the square root of the feature count, or of this number if greater. */
export const minimumCounts = [30, 80] as const;
/** A base64 alphabet without capital C, K, O and X, so that the weights cannot spell a to-do marker. */
export const alphabet = "AB.DEFGHIJ-LMN_PQRSTUVW~YZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The maximum change by lessons to a score, in log-odds, for example from 5% to 95%. */
const learnedMax = 6;
let weights: Float32Array | undefined;

/** Learned weights in log-odds, by the hashes of words and pairs of words. */
export type Lessons = Pick<ReadonlyMap<number, number>, "get" | "size">;

/** The buckets of features that are common in ham; lessons ignore them. */
export const commonBuckets: ReadonlySet<number> = new Set(
  (model.common.match(/.../g) ?? []).map((three) =>
    [...three].reduce((bucket, letter) => 64 * bucket + alphabet.indexOf(letter), 0)
  ),
);

/** Decodes the weights, one digit per bucket: 31 is zero, and a weight grows with the square of its distance from 31. */
export function decodeWeights(text: string): Float32Array {
  const byCode = new Float32Array(128);
  for (let index = 0; index < 63; index++) {
    const step = (index - 31) / 31;
    byCode[alphabet.charCodeAt(index)] = model.weightMax * step * Math.abs(step);
  }
  return Float32Array.from({ length: bucketCount }, (_, bucket) => byCode[text.charCodeAt(bucket)] as number);
}

export const weightAt = (bucket: number): number =>
  (weights ??= decodeWeights(model.table))[bucket] as number;

/** Returns the strength of a signal that occurs `times` times. */
export const signalStrength = (times: number | boolean): number => Math.min(2, Math.log2(1 + Number(times)));

let codes = new Uint16Array(1 << 12);

/** Folds a text into a buffer that the next call overwrites. */
export function foldedCodes(text: string): Uint16Array {
  while (codes.length < text.length) codes = new Uint16Array(2 * codes.length);
  return codes.subarray(0, foldInto(codes, text));
}

/** Returns the texts whose words are scored: messages, answers and companies, but not names, places and so on. */
export function scoredTexts(
  parsed: ParsedSubmission,
): { readonly messages: string[]; readonly answers: string[] } {
  const messages = fieldsWithRole(parsed, "message").map(({ text }) => text);
  const answers = fieldsWithRole(parsed, "company", "answer").map(({ text }) => text);
  return { messages, answers };
}

/** The sums of the weights in a section of a text. */
class Section {
  readonly sums = new Float64Array(familyCount);
  readonly counts = new Float64Array(familyCount);
  learned = 0;
  words = 0;

  add({ sums, counts, learned, words }: Section): void {
    for (let family = 0; family < familyCount; family++) {
      this.sums[family] = (this.sums[family] as number) + (sums[family] as number);
      this.counts[family] = (this.counts[family] as number) + (counts[family] as number);
    }
    this.learned += learned;
    this.words += words;
  }

  get logOdds(): number {
    const strengths = minimumCounts.map((minimum, family) =>
      1 / Math.sqrt(Math.max(minimum, this.counts[family] as number))
    );
    const learned = this.learned * (strengths[0] as number);
    return strengths.reduce(
      (sum, strength, family) => sum + (this.sums[family] as number) * strength,
      Math.max(-learnedMax, Math.min(learnedMax, learned)),
    );
  }
}

/** Returns the score for a submission's words, in log-odds. */
export function wordLogOdds(parsed: ParsedSubmission, lessons: Lessons): number {
  const sections: Section[] = [];
  const { messages, answers } = scoredTexts(parsed);
  const areAnswersLong = answers.reduce((sum, text) => sum + text.length, 0) > answersLengthMax;
  for (const texts of areAnswersLong ? [messages, answers] : [[...messages, ...answers]]) {
    let section = new Section();
    const start = sections.length;
    for (const text of texts) {
      const folded = foldedCodes(text);
      readFeatures(folded, folded.length, {
        feature(bucket, family, _from, _to, hash) {
          section.sums[family] = (section.sums[family] as number) + weightAt(bucket);
          section.counts[family] = (section.counts[family] as number) + 1;
          if (family === 0 && lessons.size > 0) section.learned += lessons.get(hash) ?? 0;
        },
        word() {
          if (++section.words < sectionWordCount) return;
          sections.push(section);
          section = new Section();
        },
      });
    }
    const last = sections.at(-1);
    const isLong = section.words >= lastSectionWordsMin;
    if (isLong || sections.length === start || last === undefined) sections.push(section);
    else last.add(section);
  }
  return Math.max(...sections.map(({ logOdds }) => logOdds));
}

/** Returns the weight of a signal, in log-odds. */
export const signalWeight = ([name]: Signal): number => model.signals[name] ?? 0;

/** Converts log-odds to a whole percentage. */
export const toPercent = (logOdds: number): number => Math.round(100 / (1 + Math.exp(-logOdds)));
