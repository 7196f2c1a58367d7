/**
 * Who does what for whom: sellers say what they do ("we supply", "distribuimos"), what the reader gets ("you
 * only pay"), whom the reader sells to and at which price. This holds for goods and services nobody has
 * thought of. This module is browser compatible.
 *
 * @module
 */

import type { Locale, Terms } from "./locale/locale.ts";
import type { Reading } from "./reading.ts";
import { groupOf, wordIn } from "./terms.ts";

const grammarWord = (pick: (grammar: Locale["seller"]["grammar"]) => Terms) =>
  wordIn(({ seller }) => pick(seller.grammar));
const priceGroup = (pick: (prices: Locale["seller"]["prices"]) => Terms) =>
  groupOf(({ seller }) => pick(seller.prices));

const isSubject = grammarWord(({ subjects }) => subjects);
const isAuxiliary = grammarWord(({ auxiliaries }) => auxiliaries);
const isVerb = grammarWord(({ verbs }) => verbs);
const isNoVerb = grammarWord(({ notVerbs }) => notVerbs);
const isYou = grammarWord(({ you }) => you);
const isBenefit = grammarWord(({ benefits }) => benefits);
const isYour = grammarWord(({ your }) => your);
const isPossession = grammarWord(({ possessions }) => possessions);
const isCustomersWe = grammarWord(({ weCustomers }) => weCustomers);
const past = new RegExp(`${groupOf(({ seller }) => seller.grammar.pastEndings)}$`);
const we = new RegExp(`^[a-z]{3,}${groupOf(({ seller }) => seller.grammar.weEndings)}$`);

const perUnit = `(?:/|${priceGroup(({ per }) => per)} )${priceGroup(({ units }) => units)}`;
const urging = [groupOf(({ seller }) => seller.urging.verbs), groupOf(({ seller }) => seller.urging.when)];
/** A price each, and what is like one. */
const prices: readonly RegExp[] = [
  new RegExp(`\\$ ?\\d[\\d.,]*k? ?${perUnit}`),
  new RegExp(`\\b${priceGroup(({ from }) => from)} (?:${priceGroup(({ articles }) => articles)} )?\\$ ?\\d`),
  new RegExp(`\\d ?% ${priceGroup(({ percent }) => percent)}`),
  new RegExp(`\\b${priceGroup(({ free }) => free)}`),
  new RegExp(`\\d ?${priceGroup(({ millions }) => millions)}\\b|\\b(usd|eur|usdt)\\b|\\d euros\\b`),
  new RegExp(`\\b${urging.join(" ")}\\b`),
];

/** All of them that are made from words, for the search of a text that they take long for. */
export const sellerPatterns: readonly RegExp[] = [past, we, ...prices];

/** A weight of 0 or more for the grammar of a seller; each sign counts once or twice. */
export function sellerGrammar(reading: Reading): number {
  const found = new Set<string>();
  let weight = 0;
  const count = (sign: string, points: number, times: number) => {
    for (let time = 1; time <= times; time++) {
      if (found.has(`${sign}${time}`)) continue;
      found.add(`${sign}${time}`);
      weight += points;
      return;
    }
  };
  for (const { role, folded, words } of reading) {
    if (role !== "message" && role !== "answer") continue;
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      const next = words[at + 1] ?? "";
      if (isSubject(word) && isProvision(words, at + 1)) count("provides", 3, 2);
      else if (isYou(word) && isBenefit(next)) count("you", 2, 2);
      else if (isYour(word) && isPossession(next)) count("yours", 3, 2);
      else if (we.test(word) && !isCustomersWe(word)) count("provides", 3, 2);
    }
    for (const [index, price] of prices.entries()) if (price.test(folded)) count(`price${index}`, 2, 1);
  }
  return weight;
}

/** `we [can] supply`; not `we need`, and not `we are finding`. */
function isProvision(words: readonly string[], at: number): boolean {
  const [first = "", second = ""] = [words[at], words[at + 1]];
  const verb = isAuxiliary(first) ? second : first;
  return isVerb(verb) && !isNoVerb(verb) && !past.test(verb);
}
