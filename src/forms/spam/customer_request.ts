/**
 * Tells a customer: somebody who writes about a building and wants something done. This module is browser
 * compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";
import { oneOf, termsOf, wordIn } from "./terms.ts";

const parts = termsOf(({ customer }) => customer.building);
const isPart = oneOf(parts.filter((part) => !part.includes(" ")));
/** What stands before the last word of a phrase, by that word. */
const beforePart = new Map<string, Set<string>>();
for (const [before = "", part] of parts.map((phrase) => phrase.split(" "))) {
  if (part !== undefined) beforePart.set(part, (beforePart.get(part) ?? new Set()).add(before));
}
const isFault = wordIn(({ customer }) => customer.faults);
const isWebPart = wordIn(({ customer }) => customer.webParts);
const isAsking = wordIn(({ customer }) => customer.asking);
const isMore = wordIn(({ customer }) => customer.more);
/** After these a house is the reader's: "your roof", "home improvement". */
const isReaders = wordIn(({ seller, customer }) => [
  ...seller.grammar.you,
  ...seller.grammar.your,
  ...customer.tradeBefore,
]);
const isTrade = wordIn(({ customer }) => customer.tradeAfter);

/** How a submission reads as a customer's. */
export interface Request {
  /** One each for a part of a building that is not the reader's trade, for asking, and for a fault. */
  readonly strength: number;
  /** Their different words: two for a part of a building and for a fault, one for asking. */
  readonly weight: number;
  /** Asks, and names neither a part of a building nor a fault. */
  readonly isOnlyAsking: boolean;
}

/** Looks for a customer's request. */
export function readRequest(reading: Reading): Request {
  const found = new Set<string>();
  let weight = 0;
  let hasPart = false;
  let hasAsking = false;
  let hasFault = false;
  for (const { role, words } of reading) {
    if (role !== "message" && role !== "answer" && role !== "company") continue;
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      const before = words[at - 1] ?? "";
      if (isReaders(before)) continue;
      const next = words[at + 1] ?? "";
      const names = (isPart(word) || beforePart.get(word)?.has(before) === true) && !isTrade(next);
      const asks = isAsking(word) && !isMore(next);
      const fails = isFault(word) && !isWebPart(next);
      hasPart ||= names;
      hasAsking ||= asks;
      hasFault ||= fails;
      if ((names || asks || fails) && !found.has(word)) {
        found.add(word);
        weight += asks ? 1 : 2;
      }
    }
  }
  return {
    strength: Number(hasPart) + Number(hasAsking) + Number(hasFault),
    weight,
    isOnlyAsking: hasAsking && !hasPart && !hasFault,
  };
}
