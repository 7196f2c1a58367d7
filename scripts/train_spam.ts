/**
 * Trains the spam score: `node scripts/train_spam.ts` reads `test/vectors/forms/training.jsonl`, cross-validates by author,
 * prints the curve, writes it to `docs/forms.md`, and writes `src/forms/spam/weights.ts`. The same messages give the same
 * bytes.
 *
 * The model is a logistic regression. Chosen: it is a sum, so that a score can be explained word by word, and takes a
 * microsecond a word.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type Family, places, readFeatures } from "../src/forms/spam/features.ts";
import { alphabet, foldedCodes, leastCounts, strengthOf, textsOf } from "../src/forms/spam/model.ts";
import { readSubmission } from "../src/forms/spam/reading.ts";
import { type FormValue, signsOf } from "../src/forms/spam/score.ts";

const corpus = new URL("../test/vectors/forms/training.jsonl", import.meta.url);
const weightsFile = new URL("../src/forms/spam/weights.ts", import.meta.url);
const page = new URL("../docs/forms.md", import.meta.url);

/** How the model is fitted. Chosen by cross-validation. */
const epochs = 15;
const rate = 1;
/** The larger, the closer to the messages. */
const closeness = 3;
/** Words of fewer messages are noise. */
const messagesMin = 2;
const folds = 10;
/** Weights that are not learned, because the messages are without times, and each was posted once. */
const chosenSigns = { repeated_post: 0.8, too_fast: 1 };
/** What this share of the ham has is too common to be learned from an operator's judgement. */
const commonShare = 0.005;
/** The score is a probability where this share of the submissions is spam. Chosen: so that 1 % of the ham is held at 50. */
const spamShare = 0.2;
// For test/tidy.test.ts, which reads it in modules: this one is none of them.
const note = `This module is ${"browser"} compatible.`;

/** A labelled message. */
interface Labelled {
  readonly id: string;
  readonly author: string;
  readonly label: "ham" | "spam";
  readonly language: string;
  readonly fields: Readonly<Record<string, FormValue>>;
  readonly receivedAtMs?: number;
}

/** A message as the training sees it: the places of its features, each with its strength; and its signs. */
interface Example {
  readonly author: string;
  readonly isSpam: boolean;
  readonly features: Int32Array;
  /** Of words and pairs alone. */
  readonly wordPlaces: ReadonlySet<number>;
  readonly strengths: Float64Array;
  readonly signs: ReadonlyMap<string, number>;
}

/** What was fitted: a weight for each place, and for each sign. */
interface Fit {
  readonly bias: number;
  readonly weights: Float64Array;
  readonly signs: ReadonlyMap<string, number>;
}

/** Reads a message as the score does. */
function exampleOf({ author, label, fields, receivedAtMs = 0 }: Labelled): Example {
  const submission = new Map(Object.entries(fields).map(([name, value]) => [name, { value }]));
  const reading = readSubmission(submission);
  const { messages, answers } = textsOf(reading);
  const found: (readonly [place: number, family: Family])[] = [];
  for (const text of [...messages, ...answers]) {
    const folded = foldedCodes(text);
    readFeatures(folded, folded.length, {
      feature: (place, family) => void found.push([place, family]),
      word() {},
    });
  }
  const totals = leastCounts.map((least, family) =>
    Math.max(least, found.filter(([, one]) => one === family).length)
  );
  const strengths = new Map<number, number>();
  for (const [place, family] of found) {
    strengths.set(place, (strengths.get(place) ?? 0) + 1 / Math.sqrt(totals[family] as number));
  }
  const signs = signsOf(reading, submission, { receivedAtMs }).filter(([, times]) => Number(times) > 0);
  return {
    author,
    isSpam: label === "spam",
    features: Int32Array.from(strengths.keys()),
    strengths: Float64Array.from(strengths.values()),
    wordPlaces: new Set(found.flatMap(([place, family]) => family === 0 ? [place] : [])),
    signs: new Map(signs.map(([name, times]) => [name, strengthOf(times)])),
  };
}

/** Fits a logistic regression by gradient descent; the rarer a feature, the more freely its weight moves. */
function fit(examples: readonly Example[]): Fit {
  const frequency = new Int32Array(places);
  for (const { features } of examples) {
    for (const feature of features) frequency[feature] = at(frequency, feature) + 1;
  }
  const scale = Float64Array.from(
    frequency,
    (count) => count < messagesMin ? 0 : ((Math.log((examples.length + 1) / (count + 1)) + 1) / 4) ** 2,
  );
  const weights = new Float64Array(places);
  const signs = new Map<string, number>();
  let bias = 0;
  // The decay of all weights, applied to one number.
  let decay = 1;
  let step = 0;
  const random = randomOf(7);
  const order = examples.map((_, index) => index);
  const shrink = 1 / (closeness * examples.length);
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, random);
    for (const index of order) {
      const { isSpam, features, strengths, signs: shown } = examples[index] as Example;
      const speed = rate / (1 + rate * shrink * step++);
      let logOdds = bias;
      for (let i = 0; i < features.length; i++) {
        const feature = at(features, i);
        logOdds += at(weights, feature) * decay * at(scale, feature) * at(strengths, i);
      }
      for (const [name, strength] of shown) logOdds += (signs.get(name) ?? 0) * strength;
      const error = 1 / (1 + Math.exp(-logOdds)) - Number(isSpam);
      decay *= 1 - speed * shrink;
      for (let i = 0; i < features.length; i++) {
        const feature = at(features, i);
        weights[feature] = at(weights, feature) -
          speed * error * at(scale, feature) * at(strengths, i) / decay;
      }
      // No sign speaks for a person: whoever knows it could show it.
      for (const [name, strength] of shown) {
        signs.set(
          name,
          Math.max(0, (signs.get(name) ?? 0) * (1 - speed * shrink) - speed * error * strength / 4),
        );
      }
      bias -= speed * error / 10;
    }
  }
  return { bias, weights: weights.map((weight, feature) => weight * decay * at(scale, feature)), signs };
}

function logOddsOf({ bias, weights, signs }: Fit, example: Example): number {
  let sum = bias;
  for (let i = 0; i < example.features.length; i++) {
    sum += at(weights, at(example.features, i)) * at(example.strengths, i);
  }
  for (const [name, strength] of example.signs) sum += (signs.get(name) ?? 0) * strength;
  return sum;
}

const at = (numbers: Int32Array | Float64Array, index: number): number => numbers[index] as number;

/** A generator of numbers from 0 to 1, the same ones for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0) / 2 ** 32;
}

function shuffle(order: number[], random: () => number): void {
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as number, order[last] as number];
  }
}

/** Log-odds of each message by a model that has not seen its part: an author's messages, or a tenth of all. */
function crossValidate(
  examples: readonly Example[],
  partOf: (example: Example, index: number) => unknown,
): number[] {
  const parts = examples.map(partOf);
  const logOdds: number[] = [];
  for (const part of new Set(parts)) {
    const fitted = fit(examples.filter((_, index) => parts[index] !== part));
    for (const [index, example] of examples.entries()) {
      if (parts[index] === part) logOdds[index] = logOddsOf(fitted, example);
    }
  }
  return logOdds;
}

/** The slope and the offset that make a probability of log-odds, by Platt's method. */
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

/** The log-odds over which this share of the ham lies. */
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

/** The table as text: a character for each place, 31 for none, as `src/forms/spam/model.ts` reads it. */
function textOf(weights: Float64Array, weightMax: number): string {
  return Array.from(weights, (weight) => {
    const step = Math.round(31 * Math.sqrt(Math.min(1, Math.abs(weight) / weightMax)));
    return alphabet.charAt(31 + (weight < 0 ? -step : step));
  }).join("");
}

/** Places of words and pairs that occur in much of the ham, as text: three characters of six bits each. */
function commonPlaces(examples: readonly Example[]): string {
  const ham = examples.filter(({ isSpam }) => !isSpam);
  const counts = new Map<number, number>();
  for (const place of ham.flatMap(({ wordPlaces }) => [...wordPlaces])) {
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count >= commonShare * ham.length).map(([place]) => place)
    .sort((a, b) => a - b)
    .map((place) => [12, 6, 0].map((shift) => alphabet.charAt(place >> shift & 63)).join("")).join("");
}

const labelled = readFileSync(corpus, "utf8").trimEnd().split("\n").map((line) =>
  JSON.parse(line) as Labelled
);
const examples = labelled.map(exampleOf);
const byAuthor = crossValidate(examples, ({ author }) => author);
const byTenth = crossValidate(examples, (_, index) => index % folds);
const { slope, offset } = calibrate(examples, byTenth);

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const rows = [0.0025, 0.005, 0.01, 0.02, 0.05].map((share) => {
  const cells = [byAuthor, byTenth].map((logOdds) => {
    const least = oddsAt(share, examples, logOdds);
    return percent(heldShare(examples, (index) => logOdds[index] as number > least, true));
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
const learnedSigns = [...fitted.signs].map(([name, weight]) =>
  [name, Number((weight * slope).toFixed(3))] as const
);
const signs = Object.entries({ ...Object.fromEntries(learnedSigns), ...chosenSigns }).sort()
  .map(([name, weight]) => `    ${name}: ${weight},`);
writeFileSync(
  weightsFile,
  `/**
 * The weights of the spam score, in log-odds, generated by \`scripts/train_spam.ts\`. ${note}
 *
 * @module
 */

/** \`table\` has a character for each place, \`common\` three for each common one; \`src/forms/spam/model.ts\` reads them. */
export const model = {
  bias: ${(fitted.bias * slope + shift).toFixed(4)},
  weightMax: ${weightMax},
  signs: {
${signs.join("\n")}
  } as Readonly<Record<string, number>>,
  common:
    "${commonPlaces(examples)}",
  table:
    "${textOf(weights, weightMax)}",
};
`,
);
const text = readFileSync(page, "utf8");
writeFileSync(page, text.replace(/(<!-- trained: curve -->\n)[^]*?(\n<!-- end -->)/, `$1\n${table}\n$2`));
