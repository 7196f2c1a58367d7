/**
 * Words: the form's blocked ones, and the vocabulary of pitches. This module is browser compatible.
 *
 * @module
 */

import { foldText, wordsOf } from "./fold.ts";
import { type Topic, topics } from "./lexicon.ts";
import type { ReadField, Reading } from "./reading.ts";
import type { SpamReason, SpamReasonName } from "./reasons.ts";
import { sellerGrammar } from "./grammar.ts";
import { readRequest } from "./request.ts";
import { concepts } from "./stance.ts";
import { customerWords, sellerWords } from "./wording.ts";

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

/** Scores the blocked words: {@linkcode blockedPoints} for each different one that occurs. */
export function scoreBlockedWords(reading: Reading, blocked: readonly string[]): readonly SpamReason[] {
  const { byFirst, anywhere } = indexBlocked(blocked);
  const found = new Set(anywhere.filter((phrase) => reading.some(({ folded }) => folded.includes(phrase))));
  for (const { words } of byFirst.size === 0 ? [] : reading) {
    for (const [at, word] of words.entries()) {
      for (const phrase of byFirst.get(word) ?? []) {
        if (phrase.words.every((one, offset) => one === words[at + offset])) found.add(phrase.text);
      }
    }
  }
  return [{ name: "blocked_words", points: found.size * blockedPoints }];
}

/** A form's blocked words, to be looked up by each word of a text. */
interface Blocked {
  readonly byFirst: ReadonlyMap<
    string,
    readonly { readonly text: string; readonly words: readonly string[] }[]
  >;
  readonly anywhere: readonly string[];
}

/** Forms are read anew every few seconds, and hold up to five hundred words. */
const blockedIndexes = new WeakMap<readonly string[], Blocked>();

function indexBlocked(blocked: readonly string[]): Blocked {
  const known = blockedIndexes.get(blocked);
  if (known !== undefined) return known;
  const byFirst = new Map<string, { text: string; words: readonly string[] }[]>();
  const anywhere: string[] = [];
  for (const phrase of new Set(blocked.map((one) => foldText(one.toWellFormed()).trim()))) {
    const words = wordsOf(phrase);
    const [first] = words;
    if (first !== undefined && !unspaced.test(phrase)) {
      byFirst.set(first, [...byFirst.get(first) ?? [], { text: words.join(" "), words }]);
    } else if (phrase !== "") anywhere.push(phrase);
  }
  const index = { byFirst, anywhere };
  blockedIndexes.set(blocked, index);
  return index;
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
    const phrases: Phrase[] = [];
    for (let at = 0; at < words.length; at++) findPhrases(words, at, phrases);
    for (const phrase of phrases) {
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

/** Adds the phrases that begin at a word, looked up by it and the next one: a bounded number of comparisons a word. */
function findPhrases(words: readonly string[], at: number, found: Phrase[]): void {
  const word = words[at] as string;
  for (const start of [word, `${word.slice(0, startLength)}*`]) {
    const phrases = phrasesByStart.get(start);
    if (phrases === undefined) continue;
    for (const phrase of phrases.others) if (isPhraseAt(words, at, phrase)) found.push(phrase);
    const next = phrases.byNext.get(words[at + 1] ?? "");
    if (next === undefined) continue;
    for (const phrase of next) if (isPhraseAt(words, at, phrase)) found.push(phrase);
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

/** Phrases with the same beginning. */
interface Phrases {
  /** By the word that follows. Two hundred phrases begin with "your", and no more than six go on alike. */
  readonly byNext: Map<string, Phrase[]>;
  /** Those of one word, and those that say only how the next one begins. */
  readonly others: Phrase[];
}

/** By the first word, or by the first letters and `*` of one that says only how the word begins. */
const phrasesByStart = indexPhrases();

function readWanted(word: string): Wanted {
  return word.endsWith("*") ? { text: word.slice(0, -1), isStart: true } : { text: word, isStart: false };
}

function indexPhrases(): ReadonlyMap<string, Phrases> {
  const index = new Map<string, Phrases>();
  let id = 0;
  const add = (text: string, group: string, points: number) => {
    for (const line of text.split(",")) {
      const phrase = foldText(line).trim();
      if (phrase === "") continue;
      const words = phrase.split(/\s+/).map(readWanted);
      const { text: first, isStart } = words[0] as Wanted;
      const start = isStart ? `${first.slice(0, startLength)}*` : first;
      const phrases = index.get(start) ?? { byNext: new Map<string, Phrase[]>(), others: [] };
      index.set(start, phrases);
      const next = words[1];
      const alike = next === undefined || next.isStart ? phrases.others : phrases.byNext.get(next.text) ?? [];
      alike.push({ words, id: id++, group, points });
      if (next !== undefined && !next.isStart) phrases.byNext.set(next.text, alike);
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
