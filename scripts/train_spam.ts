/**
 * Trains the spam score: `node scripts/train_spam.ts` reads `test/vectors/forms/training.jsonl`, cross-validates by
 * author and by tenth, prints how much spam is held for each share of held ham, and writes that table to `docs/forms.md`
 * and the weights to `src/forms/spam/weights.ts`, reproducibly.
 *
 * The model is a logistic regression. Chosen: it is a sum, so a score can be explained word by word and costs a
 * microsecond per word.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { bucketCount, type Family } from "../src/forms/spam/features.ts";
import {
  alphabet,
  minimumCounts,
  mostLikely,
  readSections,
  signalStrength,
} from "../src/forms/spam/model.ts";
import { parseSubmission } from "../src/forms/spam/parse.ts";
import { findSignals, type FormValue } from "../src/forms/spam/score.ts";

const corpus = new URL("../test/vectors/forms/training.jsonl", import.meta.url);
const weightsFile = new URL("../src/forms/spam/weights.ts", import.meta.url);
const page = new URL("../docs/forms.md", import.meta.url);

/** Hyperparameters, chosen by cross-validation. */
const epochs = 15;
const rate = 1;
/** Larger values fit the messages more closely. */
const closeness = 3;
/** A feature that is in fewer messages than this is noise and gets no weight. */
const messagesMin = 2;
const folds = 10;
/** Weights that cannot be learned: the messages have no times, and each was posted once. */
const chosenSignals = { repeated_post: 0.8, spaced_letters: 5, too_fast: 1 };
/** Words in this share of the ham are too common to be learned from an operator's decisions. */
const commonShare = 0.003;
/** The prior: the share of spam with which the score is a probability. Chosen so that 50 holds 1 % of ordinary ham. */
const spamShare = 0.15;
// The sentence is split, because test/tidy.test.ts looks for it in browser-compatible modules.
const note = `This module is ${"browser"} compatible.`;

interface Labelled {
  readonly id: string;
  readonly author: string;
  readonly label: "ham" | "spam";
  readonly language: string;
  readonly fields: Readonly<Record<string, FormValue>>;
  readonly receivedAtMs?: number;
}

/** The features of a section: buckets with their strengths. */
class Part {
  readonly found: (readonly [bucket: number, family: Family])[] = [];
  words = 0;
  features = new Int32Array();
  strengths = new Float64Array();
  readonly isSite: boolean;

  constructor(isSite: boolean) {
    this.isSite = isSite;
  }

  add({ found, words }: Part): void {
    for (const one of found) this.found.push(one);
    this.words += words;
  }

  /** Computes the strengths. */
  close(): void {
    const totals = minimumCounts.map((least, family) =>
      Math.max(least, this.found.filter(([, one]) => one === family).length)
    );
    const strengths = new Map<number, number>();
    for (const [bucket, family] of this.found) {
      strengths.set(bucket, (strengths.get(bucket) ?? 0) + 1 / Math.sqrt(totals[family] as number));
    }
    this.features = Int32Array.from(strengths.keys());
    this.strengths = Float64Array.from(strengths.values());
  }
}

interface Example {
  readonly author: string;
  readonly isSpam: boolean;
  /** The sections, of which the one that looks most like spam determines the score. */
  readonly parts: readonly Part[];
  /**
   * All sections together, from which the weights are learned. Rejected: learning from the section with the highest score, which
   * held 4 to 8 percentage points less of the hard spam at the same share of hard ham.
   */
  readonly whole: Part;
  /** The buckets of words and word pairs. */
  readonly wordBuckets: ReadonlySet<number>;
  readonly signals: ReadonlyMap<string, number>;
}

/** A fitted model: a weight per bucket and per signal. */
interface Fit {
  readonly bias: number;
  readonly weights: Float64Array;
  readonly signals: ReadonlyMap<string, number>;
}

/** Extracts a message's features in the same way as the score. */
function toExample({ author, label, fields, receivedAtMs = 0 }: Labelled): Example {
  const submission = new Map(Object.entries(fields).map(([name, value]) => [name, { value }]));
  const parsed = parseSubmission(submission);
  const parts = readSections(parsed, {
    create: (isSite) => new Part(isSite),
    feature: (part, bucket, family) => void part.found.push([bucket, family]),
  });
  const whole = new Part(false);
  for (const part of parts) whole.add(part);
  for (const part of [...parts, whole]) part.close();
  const signals = findSignals(parsed, submission, { receivedAtMs }).filter(([, times]) => Number(times) > 0);
  return {
    author,
    isSpam: label === "spam",
    parts,
    whole,
    wordBuckets: new Set(whole.found.flatMap(([bucket, family]) => family === 0 ? [bucket] : [])),
    signals: new Map(signals.map(([name, times]) => [name, signalStrength(times)])),
  };
}

/** Fits a logistic regression by gradient descent, with larger steps for rarer features. */
function fit(examples: readonly Example[]): Fit {
  const frequency = new Int32Array(bucketCount);
  for (const { whole } of examples) {
    for (const feature of whole.features) frequency[feature] = at(frequency, feature) + 1;
  }
  const scale = Float64Array.from(
    frequency,
    (count) => count < messagesMin ? 0 : ((Math.log((examples.length + 1) / (count + 1)) + 1) / 4) ** 2,
  );
  const weights = new Float64Array(bucketCount);
  const signals = new Map<string, number>();
  let bias = 0;
  // All weights decay through one common factor.
  let decay = 1;
  let step = 0;
  const random = seededRandom(7);
  const order = examples.map((_, index) => index);
  const shrink = 1 / (closeness * examples.length);
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, random);
    for (const index of order) {
      const { isSpam, whole: { features, strengths }, signals: shown } = examples[index] as Example;
      const speed = rate / (1 + rate * shrink * step++);
      let logOdds = bias;
      for (let i = 0; i < features.length; i++) {
        const feature = at(features, i);
        logOdds += at(weights, feature) * decay * at(scale, feature) * at(strengths, i);
      }
      for (const [name, strength] of shown) logOdds += (signals.get(name) ?? 0) * strength;
      const error = 1 / (1 + Math.exp(-logOdds)) - Number(isSpam);
      decay *= 1 - speed * shrink;
      for (let i = 0; i < features.length; i++) {
        const feature = at(features, i);
        weights[feature] = at(weights, feature) -
          speed * error * at(scale, feature) * at(strengths, i) / decay;
      }
      // No signal may lower the score, because spammers could imitate it.
      for (const [name, strength] of shown) {
        signals.set(
          name,
          Math.max(0, (signals.get(name) ?? 0) * (1 - speed * shrink) - speed * error * strength / 4),
        );
      }
      bias -= speed * error / 10;
    }
  }
  return { bias, weights: weights.map((weight, feature) => weight * decay * at(scale, feature)), signals };
}

function predictLogOdds({ bias, weights, signals }: Fit, { parts, signals: shown }: Example): number {
  const sections = parts.map(({ isSite, features, strengths }) => ({
    isSite,
    logOdds: features.reduce((sum, feature, i) => sum + at(weights, feature) * at(strengths, i), 0),
  }));
  let logOdds = bias + mostLikely(sections, bias);
  for (const [name, strength] of shown) logOdds += (signals.get(name) ?? 0) * strength;
  return logOdds;
}

const at = (numbers: Int32Array | Float64Array, index: number): number => numbers[index] as number;

/** Returns a seeded generator of numbers in [0, 1). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => (state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0) / 2 ** 32;
}

function shuffle(order: number[], random: () => number): void {
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as number, order[last] as number];
  }
}

/** Returns each message's log-odds, predicted by a model that was fitted without the message's part. */
function crossValidate(
  examples: readonly Example[],
  partOf: (example: Example, index: number) => unknown,
): number[] {
  const parts = examples.map(partOf);
  const logOdds: number[] = [];
  for (const part of new Set(parts)) {
    const fitted = fit(examples.filter((_, index) => parts[index] !== part));
    for (const [index, example] of examples.entries()) {
      if (parts[index] === part) logOdds[index] = predictLogOdds(fitted, example);
    }
  }
  return logOdds;
}

/** Returns the slope and offset that turn log-odds into a probability (Platt scaling). */
function calibrate(
  examples: readonly Example[],
  logOdds: readonly number[],
): { slope: number; offset: number } {
  let [slope, offset] = [1, 0];
  for (let round = 0; round < 2_000; round++) {
    let [bySlope, byOffset] = [0, 0];
    for (const [index, { isSpam }] of examples.entries()) {
      const error = 1 / (1 + Math.exp(-(slope * (logOdds[index] as number) + offset))) - Number(isSpam);
      bySlope += error * (logOdds[index] as number);
      byOffset += error;
    }
    slope -= bySlope / examples.length;
    offset -= byOffset / examples.length;
  }
  return { slope, offset };
}

/** Returns the log-odds that the given share of the ham exceeds. */
function oddsAt(share: number, examples: readonly Example[], logOdds: readonly number[]): number {
  const ham = logOdds.filter((_, index) => !(examples[index] as Example).isSpam).sort((a, b) => b - a);
  return ham[Math.floor(share * ham.length)] as number;
}

function heldShare(
  examples: readonly Example[],
  isHeld: (index: number) => boolean,
  isSpam: boolean,
): number {
  const indexes = examples.flatMap((example, index) => example.isSpam === isSpam ? [index] : []);
  return indexes.filter(isHeld).length / indexes.length;
}

/** Encodes the table for `src/forms/spam/model.ts`: one character per bucket; number 31 means a weight of 0. */
function encodeWeights(weights: Float64Array, weightMax: number): string {
  return Array.from(weights, (weight) => {
    const step = Math.round(31 * Math.sqrt(Math.min(1, Math.abs(weight) / weightMax)));
    return alphabet.charAt(31 + (weight < 0 ? -step : step));
  }).join("");
}

/** Returns the buckets of words and pairs that are common in ham, as text: three characters of six bits each. */
function commonBuckets(examples: readonly Example[]): string {
  const ham = examples.filter(({ isSpam }) => !isSpam);
  const counts = new Map<number, number>();
  for (const bucket of ham.flatMap(({ wordBuckets }) => [...wordBuckets])) {
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count >= commonShare * ham.length).map(([bucket]) => bucket)
    .sort((a, b) => a - b)
    .map((bucket) => [12, 6, 0].map((shift) => alphabet.charAt(bucket >> shift & 63)).join("")).join("");
}

const labelled = readFileSync(corpus, "utf8").trimEnd().split("\n").map((line) =>
  JSON.parse(line) as Labelled
);
const examples = labelled.map(toExample);
const byAuthor = crossValidate(examples, ({ author }) => author);
const byTenth = crossValidate(examples, (_, index) => index % folds);
const { slope, offset } = calibrate(examples, byTenth);

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const rows = [0.0025, 0.005, 0.01, 0.02, 0.05].map((share) => {
  const cells = [byAuthor, byTenth].map((logOdds) => {
    const threshold = oddsAt(share, examples, logOdds);
    return percent(heldShare(examples, (index) => logOdds[index] as number > threshold, true));
  });
  return [percent(share), ...cells];
});
const header = ["Ham held", "Spam held, author not seen", "Spam held, tenth not seen"];
const widths = header.map((title, column) =>
  Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length))
);
const line = (cells: readonly string[]) =>
  `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
const table = [line(header), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
console.log(table);
const shift = offset + Math.log(spamShare / (1 - spamShare)) -
  Math.log(examples.filter(({ isSpam }) => isSpam).length / examples.filter(({ isSpam }) => !isSpam).length);
for (const [name, logOdds] of Object.entries({ author: byAuthor, tenth: byTenth })) {
  const isHeld = (index: number) => slope * (logOdds[index] as number) + shift > 0;
  console.log(
    `at 50, ${name} not seen: ham ${percent(heldShare(examples, isHeld, false))}, spam ${
      percent(heldShare(examples, isHeld, true))
    }`,
  );
}
const fitted = fit(examples);
const weights = fitted.weights.map((weight) => weight * slope);
const weightMax = Number(weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0).toFixed(4));
const learnedSignals = [...fitted.signals].map(([name, weight]) =>
  [name, Number((weight * slope).toFixed(3))] as const
);
const signals = Object.entries({ ...Object.fromEntries(learnedSignals), ...chosenSignals }).sort()
  .map(([name, weight]) => `    ${name}: ${weight},`);
writeFileSync(
  weightsFile,
  `/**
 * The weights of the spam score, in log-odds, generated by \`scripts/train_spam.ts\`. ${note}
 */

/** \`table\` has a character for each bucket, \`common\` three for each common one; \`src/forms/spam/model.ts\` reads them. */
export const model = {
  bias: ${(fitted.bias * slope + shift).toFixed(4)},
  weightMax: ${weightMax},
  signals: {
${signals.join("\n")}
  } as Readonly<Record<string, number>>,
  common:
    "${commonBuckets(examples)}",
  table:
    "${encodeWeights(weights, weightMax)}",
};
`,
);
const text = readFileSync(page, "utf8");
writeFileSync(page, text.replace(/(<!-- trained: curve -->\n)[^]*?(\n<!-- end -->)/, `$1\n${table}\n$2`));
