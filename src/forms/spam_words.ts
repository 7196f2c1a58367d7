/**
 * Words: the form's blocked ones, and the vocabulary of pitches. This module is browser compatible.
 *
 * @module
 */

import { foldText, wordsOf } from "./spam_fold.ts";
import { type Topic, topics } from "./spam_lexicon.ts";
import type { ReadField, Reading } from "./spam_reading.ts";
import type { SpamReason, SpamReasonName } from "./spam_reasons.ts";
import { sellerGrammar } from "./spam_grammar.ts";
import { readRequest } from "./spam_request.ts";
import { concepts } from "./spam_stance.ts";
import { customerWords, sellerWords } from "./spam_wording.ts";

/** One blocked word is enough for the usual threshold. */
const blockedPoints = 50;
const pointsByWeight = { strong: 26, fair: 13, weak: 5 } as const;
const topicPointsMax = 65;
/** By the number of different things said that a seller says. */
const solicitationPoints = [0, 0, 12, 30, 50, 60];
/** So many points of one topic are a pitch, whatever else the text says. */
const surePoints = 60;
const offTopicPoints = 18;
/** With so much of a seller's wording. */
const offTopicSellerPoints = 28;
const sellerNet = 4;
/** A link counts unless the wording is clearly a customer's. */
const linkNet = -1;
/** However many words of the faintest kind: a long letter has many of everything. */
const faintMax = 3;
const offTopicLinkPoints = 40;
/** By the weight of a seller's words over a customer's. */
const wordingPoints = [0, 0, 0, 8, 16, 26, 36, 44, 50, 54];
/** No beginning of a word in the lexicon is shorter. */
const startLength = 2;
const everyday = new Set(
  "the and you your to is for with this have are we it de la que su el los para con una tu es".split(" "),
);
/** Written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** A word of a phrase: `rank*` is any word that begins so. */
interface Wanted {
  readonly text: string;
  readonly isStart: boolean;
}

/** A phrase of the lexicon. */
interface Phrase {
  readonly words: readonly Wanted[];
  readonly id: number;
  readonly group: string;
  readonly points: number;
}

/**
 * Scores the blocked words: {@linkcode blockedPoints} for each different one that occurs. The work is the
 * number of blocked words times the length of the text.
 */
export function scoreBlockedWords(reading: Reading, blocked: readonly string[]): readonly SpamReason[] {
  const texts = reading.map(({ folded, words }) => ({ folded, spaced: ` ${words.join(" ")} ` }));
  const phrases = new Set(
    blocked.map((phrase) => foldText(phrase.toWellFormed()).trim()).filter((phrase) => phrase !== ""),
  );
  let found = 0;
  for (const phrase of phrases) {
    const words = wordsOf(phrase);
    const isAnywhere = words.length === 0 || unspaced.test(phrase);
    const spaced = ` ${words.join(" ")} `;
    if (texts.some((text) => isAnywhere ? text.folded.includes(phrase) : text.spaced.includes(spaced))) {
      found++;
    }
  }
  return [{ name: "blocked_words", points: found * blockedPoints }];
}

/** Scores the vocabulary of pitches by topic, and the stance and the wording of somebody who sells. */
export function scorePitch(reading: Reading): readonly SpamReason[] {
  const seen = new Set<number>();
  let net = 0;
  let faint = 0;
  const points = new Map<string, { points: number; isSure: boolean }>();
  const said = new Set<string>();
  for (const { role, words } of reading) {
    if (role === "email" || role === "phone" || role === "place" || role === "link") continue;
    for (const phrase of phrasesIn(words)) {
      if (seen.has(phrase.id)) continue;
      seen.add(phrase.id);
      if (phrase.group === "wording") {
        if (phrase.points === 1) faint++;
        else net += phrase.points;
        continue;
      }
      if (phrase.points === 0) {
        said.add(phrase.group);
        continue;
      }
      const sum = points.get(phrase.group) ?? { points: 0, isSure: false };
      points.set(phrase.group, {
        points: sum.points + phrase.points,
        isSure: sum.isSure || phrase.points > pointsByWeight.weak,
      });
    }
  }
  const solicitation = solicitationPoints[Math.min(said.size, solicitationPoints.length - 1)] as number;
  const pitches = [...points].map(([group, sum]): SpamReason => ({
    name: group as SpamReasonName,
    // A weak word is everyone's ("loan", "followers") until somebody sells.
    points: sum.isSure || solicitation >= 50 ? Math.min(topicPointsMax, sum.points) : 0,
  }));
  const { strength, weight, isOnlyAsking } = readRequest(reading);
  net += Math.min(faintMax, faint) + sellerGrammar(reading) - Math.min(10, weight);
  const wording = wordingPoints[Math.max(0, Math.min(net, wordingPoints.length - 1))] as number;
  const found = [
    { name: "solicitation", points: solicitation } as const,
    { name: "sales_wording", points: wording } as const,
    ...pitches,
  ];
  // Customers mention their loan, their lawyer and the casino next door; who asks for work is seldom a seller.
  const surest = Math.max(solicitation, ...pitches.map(({ points }) => points));
  if (strength >= 2 && net < 6 && surest < surePoints) {
    return found.map(({ name, points }) => ({ name, points: Math.floor(points / 2) }));
  }
  // "I need" alone is everyone's: it counts for little beside a seller's wording.
  if (strength > 1 || strength === 1 && !(isOnlyAsking && net >= sellerNet)) return found;
  if (net >= linkNet && reading.some(hasUnfamiliarLink) && (net >= 2 || reading.some(isEnglishOrSpanish))) {
    return [...found, { name: "off_topic", points: offTopicLinkPoints }];
  }
  const isPitch = found.some(({ points }) => points > 0);
  return isPitch
    ? [...found, { name: "off_topic", points: net >= sellerNet ? offTopicSellerPoints : offTopicPoints }]
    : found;
}

function hasUnfamiliarLink({ role, links }: ReadField): boolean {
  return role === "message" && links.some((link) => !link.familiar);
}

/** Whether somebody asks for work is known in these languages only. */
function isEnglishOrSpanish({ role, words }: ReadField): boolean {
  return role === "message" && new Set(words.filter((word) => everyday.has(word))).size >= 2;
}

/** All phrases in a text, looked up by each word and by its first letters: a bounded number of comparisons a word. */
function* phrasesIn(words: readonly string[]): Generator<Phrase> {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    for (const start of [word, `${word.slice(0, startLength)}*`]) {
      for (const phrase of phrasesByStart.get(start) ?? []) {
        if (isPhraseAt(words, at, phrase)) yield phrase;
      }
    }
  }
}

function isPhraseAt(words: readonly string[], at: number, phrase: Phrase): boolean {
  for (let offset = 0; offset < phrase.words.length; offset++) {
    const said = words[at + offset];
    const wanted = phrase.words[offset] as Wanted;
    if (said === undefined || !(wanted.isStart ? said.startsWith(wanted.text) : said === wanted.text)) {
      return false;
    }
  }
  return true;
}

/** By the first word, or by the first letters and `*` of one that says only how the word begins. */
const phrasesByStart = indexPhrases();

function readWanted(word: string): Wanted {
  return word.endsWith("*") ? { text: word.slice(0, -1), isStart: true } : { text: word, isStart: false };
}

function indexPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const index = new Map<string, Phrase[]>();
  let id = 0;
  const add = (text: string, group: string, points: number) => {
    for (const line of text.split(",")) {
      const phrase = foldText(line).trim();
      if (phrase === "") continue;
      const words = phrase.split(/\s+/).map(readWanted);
      const { text: first, isStart } = words[0] as Wanted;
      const start = isStart ? `${first.slice(0, startLength)}*` : first;
      index.set(start, [...(index.get(start) ?? []), { words, id: id++, group, points }]);
    }
  };
  for (const topic of topics as readonly Topic[]) {
    for (const weight of ["strong", "fair", "weak"] as const) {
      add(topic[weight], topic.reason, pointsByWeight[weight]);
    }
  }
  for (const weight of [1, 2, 3] as const) add(sellerWords[weight], "wording", weight);
  add(customerWords, "wording", -1);
  for (const [concept, text] of Object.entries(concepts)) add(text, concept, 0);
  return index;
}
