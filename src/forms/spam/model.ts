/** Applies the model that `scripts/train_spam.ts` trains. This module is browser compatible. */

import { bucketCount, type Family, familyCount, readFeatures } from "./features.ts";
import { foldInto } from "./fold.ts";
import { fieldsWithRole, type ParsedSubmission } from "./parse.ts";
import type { Signal } from "./reasons.ts";
import { model } from "./weights.ts";

/** The number of words per section. The most spam-like section determines the score, so that padding cannot hide spam. */
const sectionWordCount = 120;
/** The minimum number of words in the last section; a shorter one is merged into the previous section. */
const lastSectionWordsMin = 40;

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

/** Texts whose words are scored together. */
interface TextGroup {
  readonly texts: readonly string[];
  /** Whether the site wrote them, so that they count only if they are themselves a pitch. */
  readonly isSite: boolean;
}

/**
 * Returns the texts whose words are scored, without names, places and so on, in groups that are scored apart, so that text of the
 * site's own cannot hide a pitch: the messages, each other long text, the answers, technical fields, and each disclosure.
 */
function textGroups(parsed: ParsedSubmission): readonly TextGroup[] {
  const texts = (...roles: Parameters<typeof fieldsWithRole>[1][]) =>
    fieldsWithRole(parsed, ...roles).map(({ text }) => text);
  const groups = [texts("message", "company"), ...texts("text").map((text) => [text]), texts("answer")];
  const site = [texts("site"), ...parsed.fields.map(({ disclosure }) => [disclosure])];
  return [
    ...groups.map((texts) => ({ texts, isSite: false })),
    ...site.map((texts) => ({ texts, isSite: true })),
  ].filter(({ texts }) => texts.some((text) => text !== ""));
}

/** Returns the texts whose words explain a score and are learned from: the site's own only if there is nothing else. */
export function scoredTexts(parsed: ParsedSubmission): readonly string[] {
  const groups = textGroups(parsed);
  const own = groups.filter(({ isSite }) => !isSite);
  return (own.length > 0 ? own : groups).flatMap(({ texts }) => texts);
}

/** What is collected for a section of a text. */
interface SectionOf<Self> {
  words: number;
  add(other: Self): void;
}

/** Reads the features of a submission's texts in sections; there is at least one. */
export function readSections<Section extends SectionOf<Section>>(
  parsed: ParsedSubmission,
  { create, feature }: {
    create(isSite: boolean): Section;
    feature(section: Section, bucket: number, family: Family, hash: number): void;
  },
): readonly Section[] {
  const sections: Section[] = [];
  for (const { texts, isSite } of textGroups(parsed)) {
    let section = create(isSite);
    const start = sections.length;
    for (const text of texts) {
      const folded = foldedCodes(text);
      readFeatures(folded, folded.length, {
        feature: (bucket, family, _from, _to, hash) => feature(section, bucket, family, hash),
        word() {
          if (++section.words < sectionWordCount) return;
          sections.push(section);
          section = create(isSite);
        },
      });
    }
    const last = sections.at(-1);
    const isLong = section.words >= lastSectionWordsMin;
    if (isLong || sections.length === start || last === undefined) sections.push(section);
    else last.add(section);
  }
  return sections.length === 0 ? [create(false)] : sections;
}

/** The sums of the weights in a section of a text. */
class Section {
  readonly isSite: boolean;
  readonly sums = new Float64Array(familyCount);
  readonly counts = new Float64Array(familyCount);
  learned = 0;
  words = 0;

  constructor(isSite: boolean) {
    this.isSite = isSite;
  }

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

/** Returns the score for a submission's words, in log-odds: that of the section that looks most like spam. */
export function wordLogOdds(parsed: ParsedSubmission, lessons: Lessons): number {
  const sections = readSections(parsed, {
    create: (isSite) => new Section(isSite),
    feature(section, bucket, family, hash) {
      section.sums[family] = (section.sums[family] as number) + weightAt(bucket);
      section.counts[family] = (section.counts[family] as number) + 1;
      if (family === 0 && lessons.size > 0) section.learned += lessons.get(hash) ?? 0;
    },
  });
  return mostLikely(sections, model.bias);
}

/** Returns the highest log-odds of the sections. The site's own text counts only if it is itself a pitch; 0 if nothing counts. */
export function mostLikely(
  sections: readonly { readonly isSite: boolean; readonly logOdds: number }[],
  bias: number,
): number {
  const counted = sections.filter(({ isSite, logOdds }) => !isSite || bias + logOdds > 0);
  return counted.length === 0 ? 0 : Math.max(...counted.map(({ logOdds }) => logOdds));
}

/** Returns the weight of a signal, in log-odds. */
export const signalWeight = ([name]: Signal): number => model.signals[name] ?? 0;

/** Converts log-odds to a whole percentage. */
export const toPercent = (logOdds: number): number => Math.round(100 / (1 + Math.exp(-logOdds)));
