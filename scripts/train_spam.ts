/**
 * Trains the spam score: `node scripts/train_spam.ts` reads `test/vectors/forms/training.jsonl`, cross-validates by author,
 * prints the curve, and writes it to `docs/forms.md` and the weights to `src/forms/spam/weights.ts`, reproducibly.
 *
 * The model is a logistic regression. Chosen: it is a sum, so a score can be explained word by word and costs a microsecond
 * per word.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type Family, places, readFeatures } from "../src/forms/spam/features.ts";
import { alphabet, foldedCodes, leastCounts, strengthOf, textsOf } from "../src/forms/spam/model.ts";
import { readSubmission } from "../src/forms/spam/reading.ts";
import { type FormValue, signsOf } from "../src/forms/spam/score.ts";

const corpus = new URL("../test/vectors/forms/training.jsonl", import.meta.url);
const weightsFile = new URL("../src/forms/spam/weights.ts", import.meta.url);
const page = new URL("../docs/forms.md", import.meta.url);

/** Hyperparameters, chosen by cross-validation. */
const epochs = 15;
const rate = 1;
/** Larger values fit the messages more closely. */
const closeness = 3;
/** Words in fewer messages are noise. */
const messagesMin = 2;
const folds = 10;
/** Weights that cannot be learned: the messages have no times, and each was posted once. */
const chosenSigns = { repeated_post: 0.8, too_fast: 1 };
/** Words in this share of the ham are too common to be learned from an operator's decisions. */
const commonShare = 0.005;
/** The prior: the share of spam for which the score is a probability. Chosen so that 50 holds 1 % of the ham. */
const spamShare = 0.2;
// Split, because test/tidy.test.ts looks for the whole sentence in browser-compatible modules.
const note = `This module is ${"browser"} compatible.`;

/** A labeled message. */
interface Labelled {
  readonly id: string;
  readonly author: string;
  readonly label: "ham" | "spam";
  readonly language: string;
  readonly fields: Readonly<Record<string, FormValue>>;
  readonly receivedAtMs?: number;
}

/** A message's features: places with their strengths, and signs. */
interface Example {
  readonly author: string;
  readonly isSpam: boolean;
  readonly features: Int32Array;
  /** Only of words and pairs. */
  readonly wordPlaces: ReadonlySet<number>;
  readonly strengths: Float64Array;
  readonly signs: ReadonlyMap<string, number>;
}

/** A fitted model: a weight per place and per sign. */
interface Fit {
  readonly bias: number;
  readonly weights: Float64Array;
  readonly signs: ReadonlyMap<string, number>;
}

/** Extracts a message's features as the score does. */
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

/** Fits a logistic regression by gradient descent; weights of rarer features move more freely. */
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
  // All weights decay through one common factor.
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
      // No sign may lower the score: spammers could imitate it.
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

/** A seeded generator of numbers in [0, 1). */
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

/** Out-of-fold log-odds of each message; a fold is an author's messages or a tenth of all. */
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

/** Platt scaling: the slope and offset that turn log-odds into a probability. */
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

/** The log-odds that this share of the ham exceeds. */
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

/** The table as text: one character per place, 31 for none, as `src/forms/spam/model.ts` reads it. */
function textOf(weights: Float64Array, weightMax: number): string {
  return Array.from(weights, (weight) => {
    const step = Math.round(31 * Math.sqrt(Math.min(1, Math.abs(weight) / weightMax)));
    return alphabet.charAt(31 + (weight < 0 ? -step : step));
  }).join("");
}

/** Places of words and pairs that are common in ham, as text: three characters of six bits each. */
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
