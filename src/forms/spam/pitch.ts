/**
 * The vocabulary of pitches, and the stance and the wording of somebody who sells. This module is browser compatible.
 *
 * @module
 */

import { readRequest, type Request } from "./customer_request.ts";
import type { PitchReason } from "./locale/locale.ts";
import { signsIn } from "./phrases.ts";
import type { ReadField, Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";
import { sellerGrammar } from "./seller_grammar.ts";
import { wordIn } from "./terms.ts";

const pointsByWeight = { strong: 26, fair: 13, weak: 5 } as const;
const topicPointsMax = 65;
/** By the number of different things said that a seller says. */
const solicitationPoints = [0, 0, 12, 30, 50, 60];
/** With so much solicitation everyone's words are a seller's too. */
const solicitationSure = 50;
/** So many points of one topic are a pitch, whatever else the text says. */
const surePoints = 60;
const offTopicPoints = 18;
/** With so much of a seller's wording. */
const offTopicSellerPoints = 28;
const sellerNet = 4;
/** With so much, asking for work does not make a customer. */
const surelySellerNet = 6;
/** A link counts unless the wording is clearly a customer's. */
const linkNet = -1;
const offTopicLinkPoints = 40;
/** However many words of the faintest kind: a long letter has many of everything. */
const faintMax = 3;
/** However much of a customer's request. */
const requestMax = 10;
/** By the weight of a seller's words over a customer's. */
const wordingPoints = [0, 0, 0, 8, 16, 26, 36, 44, 50, 54];
const isEveryday = wordIn(({ everyday }) => everyday);

/** What the words of a submission sell. */
interface Sold {
  readonly solicitation: number;
  /** A seller's words less a customer's, without grammar and request. */
  readonly wording: number;
  readonly pitches: readonly SpamReason[];
}

/** Scores the vocabulary of pitches by topic, and the stance and the wording of somebody who sells. */
export function scorePitch(reading: Reading): readonly SpamReason[] {
  const { solicitation, wording, pitches } = readSold(reading);
  const request = readRequest(reading);
  const net = wording + sellerGrammar(reading) - Math.min(requestMax, request.weight);
  const found: readonly SpamReason[] = [
    { name: "solicitation", points: solicitation },
    { name: "sales_wording", points: atMostLast(wordingPoints, Math.max(0, net)) },
    ...pitches,
  ];
  // Customers mention their loan, their lawyer and the casino next door; who asks for work is seldom a seller.
  const surest = Math.max(solicitation, ...pitches.map(({ points }) => points));
  if (request.strength >= 2 && net < surelySellerNet && surest < surePoints) {
    return found.map(({ name, points }) => ({ name, points: Math.floor(points / 2) }));
  }
  const isPitch = found.some(({ points }) => points > 0);
  return [...found, { name: "off_topic", points: offTopic(reading, { request, net, isPitch }) }];
}

function readSold(reading: Reading): Sold {
  let net = 0;
  let faint = 0;
  const topics = new Map<PitchReason, { points: number; isSure: boolean }>();
  const stances = new Set<string>();
  const texts = reading.filter(({ role }) =>
    role === "message" || role === "answer" || role === "company" || role === "name"
  );
  for (const sign of signsIn(texts.map(({ words }) => words))) {
    if (sign.kind === "stance") stances.add(sign.stance);
    else if (sign.kind === "pitch") {
      const topic = topics.get(sign.reason) ?? { points: 0, isSure: false };
      topics.set(sign.reason, {
        points: topic.points + pointsByWeight[sign.weight],
        isSure: topic.isSure || sign.weight !== "weak",
      });
    } else if (sign.weight === 1) faint++;
    else net += sign.weight;
  }
  const solicitation = atMostLast(solicitationPoints, stances.size);
  return {
    solicitation,
    wording: net + Math.min(faintMax, faint),
    pitches: [...topics].map(([name, { points, isSure }]) => ({
      name,
      // A weak word is everyone's ("loan", "followers") until somebody sells.
      points: isSure || solicitation >= solicitationSure ? Math.min(topicPointsMax, points) : 0,
    })),
  };
}

/** What a text counts that asks for no work. */
function offTopic(
  reading: Reading,
  { request, net, isPitch }: { readonly request: Request; readonly net: number; readonly isPitch: boolean },
): number {
  // "I need" alone is everyone's: it counts for little beside a seller's wording.
  const isRequest = request.strength > 1 ||
    request.strength === 1 && !(request.isOnlyAsking && net >= sellerNet);
  if (isRequest) return 0;
  if (net >= linkNet && reading.some(hasUnfamiliarLink) && (net >= 2 || reading.some(isUnderstood))) {
    return offTopicLinkPoints;
  }
  return !isPitch ? 0 : net >= sellerNet ? offTopicSellerPoints : offTopicPoints;
}

function hasUnfamiliarLink({ role, links }: ReadField): boolean {
  return role === "message" && links.some((link) => !link.familiar);
}

/** Whether somebody asks for work is known in the languages of the locales only. */
function isUnderstood({ role, words }: ReadField): boolean {
  return role === "message" && new Set(words.filter(isEveryday)).size >= 2;
}

function atMostLast(points: readonly number[], index: number): number {
  return points[Math.min(index, points.length - 1)] as number;
}
