/** Reads stored submissions for the spam score: what a label teaches, and what explains a score. */

import { readFields } from "./fields.ts";
import { explainScore, type Share } from "./spam/explain.ts";
import { labelFeatures } from "./spam/label_features.ts";
import type { Lessons } from "./spam/model.ts";
import type { Submission } from "./spam/parse.ts";

/** Returns what a label on a stored submission teaches; see {@linkcode labelFeatures}. */
export function storedFeatures(fields: Readonly<Record<string, string>>): number[] {
  return labelFeatures(new Map(Object.entries(fields).map(([name, value]) => [name, { value }])));
}

export function explainStored(
  { lead, receivedAt }: { readonly lead: string; readonly receivedAt: string },
  lessons: Lessons,
): readonly Share[] {
  return explainScore(parseFields(lead), Date.parse(receivedAt), lessons);
}

const parseFields = (lead: string): Submission => readFields(lead)?.fields ?? new Map();
