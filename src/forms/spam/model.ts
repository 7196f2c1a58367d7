/** The learned model, trained by `scripts/train_spam.ts`. This module is browser compatible. */

import { families, places, readFeatures } from "./features.ts";
import { foldInto } from "./fold.ts";
import { fieldsOf, type Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";
import { model } from "./weights.ts";

/** The most spam-like part of a longer text counts, so that padding hides nothing. */
const windowWords = 120;
/** A shorter rest is scored with the words before it. */
const restWords = 40;
/** Longer answers are scored apart from the message. */
const answersMax = 400;

/** Shorter texts count as this long: a single word says little. */
export const leastCounts = [30, 80] as const;
/** Six bits a character. Without C, K, O and X, so that no weights spell a mark of unfinished code. */
export const alphabet = "AB.DEFGHIJ-LMN_PQRSTUVW~YZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The most that lessons move a score, in log-odds: from 5 % to 95 %. */
const taughtMax = 6;
let weights: Float32Array | undefined;

/** Learned weights in log-odds, by the hashes of words and pairs. */
export type Lessons = ReadonlyMap<number, number>;

/** Places that are frequent in ham; nothing is learned for them. */
export const commonPlaces: ReadonlySet<number> = new Set(
  (model.common.match(/.../g) ?? []).map((three) =>
    [...three].reduce((place, letter) => 64 * place + alphabet.indexOf(letter), 0)
  ),
);

/** Decodes the weights, one character a place: 31 is zero, and they grow with the square of the distance. */
export function tableOf(text: string): Float32Array {
  const byCode = new Float32Array(128);
  for (let index = 0; index < 63; index++) {
    const step = (index - 31) / 31;
    byCode[alphabet.charCodeAt(index)] = model.weightMax * step * Math.abs(step);
  }
  return Float32Array.from({ length: places }, (_, place) => byCode[text.charCodeAt(place)] as number);
}

/** The weight of a place. */
export const weightAt = (place: number): number => (weights ??= tableOf(model.table))[place] as number;

/** The strength of a sign that occurs `times` times. */
export const strengthOf = (times: number | boolean): number => Math.min(2, Math.log2(1 + Number(times)));

let codes = new Uint16Array(1 << 12);

/** Folds a text into a buffer that the next call overwrites. */
export function foldedCodes(text: string): Uint16Array {
  while (codes.length < text.length) codes = new Uint16Array(2 * codes.length);
  return codes.subarray(0, foldInto(codes, text));
}

/** The texts whose words count: messages and short answers, without names and places. */
export function textsOf(reading: Reading): { readonly messages: string[]; readonly answers: string[] } {
  const messages = fieldsOf(reading, "message").map(({ text }) => text);
  const answers = fieldsOf(reading, "company", "answer").map(({ text }) => text);
  return { messages, answers };
}

/** Sums of weights over a part of a text. */
class Stretch {
  readonly sums = new Float64Array(families);
  readonly counts = new Float64Array(families);
  taught = 0;
  words = 0;

  add({ sums, counts, taught, words }: Stretch): void {
    for (let family = 0; family < families; family++) {
      this.sums[family] = (this.sums[family] as number) + (sums[family] as number);
      this.counts[family] = (this.counts[family] as number) + (counts[family] as number);
    }
    this.taught += taught;
    this.words += words;
  }

  get logOdds(): number {
    const strengths = leastCounts.map((least, family) =>
      1 / Math.sqrt(Math.max(least, this.counts[family] as number))
    );
    const taught = this.taught * (strengths[0] as number);
    return strengths.reduce(
      (sum, strength, family) => sum + (this.sums[family] as number) * strength,
      Math.max(-taughtMax, Math.min(taughtMax, taught)),
    );
  }
}

/** The log-odds of a submission's words. */
export function weighWords(reading: Reading, lessons: Lessons): number {
  const found: Stretch[] = [];
  const { messages, answers } = textsOf(reading);
  const isApart = answers.reduce((sum, text) => sum + text.length, 0) > answersMax;
  for (const texts of isApart ? [messages, answers] : [[...messages, ...answers]]) {
    let stretch = new Stretch();
    const begin = found.length;
    for (const text of texts) {
      const folded = foldedCodes(text);
      readFeatures(folded, folded.length, {
        feature(place, family, _from, _to, hash) {
          stretch.sums[family] = (stretch.sums[family] as number) + weightAt(place);
          stretch.counts[family] = (stretch.counts[family] as number) + 1;
          if (family === 0 && lessons.size > 0) stretch.taught += lessons.get(hash) ?? 0;
        },
        word() {
          if (++stretch.words < windowWords) return;
          found.push(stretch);
          stretch = new Stretch();
        },
      });
    }
    const last = found.at(-1);
    if (stretch.words >= restWords || found.length === begin || last === undefined) found.push(stretch);
    else last.add(stretch);
  }
  return Math.max(...found.map((one) => one.logOdds));
}

/** The weight of a sign, in log-odds. */
export const weightOfSign = ([name]: Sign): number => model.signs[name] ?? 0;

/** Log-odds as a whole percentage. */
export const percentOf = (logOdds: number): number => Math.round(100 / (1 + Math.exp(-logOdds)));
