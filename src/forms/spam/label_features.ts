/** Finds the words in a submission that a label teaches the spam score. This module is browser compatible. */

import { readFeatures } from "./features.ts";
import { commonBuckets, foldedCodes, scoredTexts } from "./model.ts";
import { parseSubmission, type Submission } from "./parse.ts";

/** The maximum number of hashes per label. Source: DECISIONS, Decided for the operator (Learning). */
const featuresMax = 256;
/** Returns the hashes of the first words and pairs of words, without those that are common in legitimate messages. */
export function labelFeatures(submission: Submission): number[] {
  const hashes = new Set<number>();
  for (const text of scoredTexts(parseSubmission(submission))) {
    if (hashes.size >= featuresMax) break;
    const folded = foldedCodes(text);
    readFeatures(folded, folded.length, {
      feature(bucket, family, _from, _to, hash) {
        if (family === 0 && !commonBuckets.has(bucket)) hashes.add(hash);
      },
      word() {},
    });
  }
  return [...hashes].slice(0, featuresMax);
}
