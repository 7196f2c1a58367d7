/**
 * Finds the phrases of every language in a text. This module is browser compatible.
 *
 * @module
 */

import { foldText } from "./fold.ts";
import type { Locale, Pitch, PitchReason, SellerWords, Terms } from "./locale/locale.ts";
import { locales } from "./locale/locales.ts";

/** What a phrase is a sign of. */
type Sign =
  | { readonly kind: "pitch"; readonly reason: PitchReason; readonly weight: keyof Pitch }
  | { readonly kind: "stance"; readonly stance: keyof SellerWords["stance"] }
  /** Over 0 a seller's word, under 0 a customer's. */
  | { readonly kind: "wording"; readonly weight: -1 | 1 | 2 | 3 };

/** A word of a phrase: `rank*` is any word that begins so. */
interface Wanted {
  readonly text: string;
  readonly isStart: boolean;
}

/** A phrase of a language. */
interface Phrase {
  readonly words: readonly Wanted[];
  readonly sign: Sign;
}

/** Phrases with the same beginning. */
interface Phrases {
  /** By the word that follows. Two hundred phrases begin with "your", and no more than six go on alike. */
  readonly byNext: Map<string, Phrase[]>;
  /** Those of one word, and those that say only how the next one begins. */
  readonly others: Phrase[];
}

/** No first word of a phrase that says only how it begins is shorter. */
const startLength = 2;

/** By the first word, or by the first letters and `*` of one that says only how the word begins. */
let phrasesByStart: ReadonlyMap<string, Phrases> | undefined;

/** What the phrases in some texts are signs of; a phrase that a language lists in several places is several. */
export function signsIn(texts: Iterable<readonly string[]>): readonly Sign[] {
  // By the first post: with what the runtime loads to fold them they take 9 MiB.
  const index = phrasesByStart ??= indexPhrases();
  const found = new Set<Phrase>();
  for (const words of texts) {
    for (let at = 0; at < words.length; at++) findPhrases(words, at, { index, found });
  }
  return [...found].map(({ sign }) => sign);
}

/** Adds the phrases that begin at a word, looked up by it and the next one: a bounded number of comparisons a word. */
function findPhrases(
  words: readonly string[],
  at: number,
  { index, found }: { readonly index: ReadonlyMap<string, Phrases>; readonly found: Set<Phrase> },
): void {
  const word = words[at] as string;
  for (const start of [word, `${word.slice(0, startLength)}*`]) {
    const phrases = index.get(start);
    if (phrases === undefined) continue;
    for (const phrase of phrases.others) if (isPhraseAt(words, at, phrase)) found.add(phrase);
    const next = phrases.byNext.get(words[at + 1] ?? "");
    if (next === undefined) continue;
    for (const phrase of next) if (isPhraseAt(words, at, phrase)) found.add(phrase);
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

function indexPhrases(): ReadonlyMap<string, Phrases> {
  const index = new Map<string, Phrases>();
  for (const { words, sign } of locales.flatMap(phrasesOf)) {
    const [{ text, isStart }, next] = words as readonly [Wanted, Wanted | undefined];
    const start = isStart ? `${text.slice(0, startLength)}*` : text;
    const phrases = index.get(start) ?? { byNext: new Map<string, Phrase[]>(), others: [] };
    index.set(start, phrases);
    if (next === undefined || next.isStart) phrases.others.push({ words, sign });
    else phrases.byNext.set(next.text, [...phrases.byNext.get(next.text) ?? [], { words, sign }]);
  }
  return index;
}

function phrasesOf({ pitches, seller, customer }: Locale): readonly Phrase[] {
  const weights = ["strong", "fair", "weak"] as const;
  const stances = Object.keys(seller.stance) as (keyof typeof seller.stance)[];
  return [
    ...(Object.keys(pitches) as PitchReason[]).flatMap((reason) =>
      weights.flatMap((weight) => read(pitches[reason][weight], { kind: "pitch", reason, weight }))
    ),
    ...stances.flatMap((stance) => read(seller.stance[stance], { kind: "stance", stance })),
    ...([1, 2, 3] as const).flatMap((weight) => read(seller.words[weight], { kind: "wording", weight })),
    ...read(customer.words, { kind: "wording", weight: -1 }),
  ];
}

function read(terms: Terms, sign: Sign): readonly Phrase[] {
  return terms.map((term) => ({ words: foldText(term).split(" ").map(readWanted), sign }));
}

function readWanted(word: string): Wanted {
  return word.endsWith("*") ? { text: word.slice(0, -1), isStart: true } : { text: word, isStart: false };
}
