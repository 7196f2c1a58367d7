/**
 * What links say about a submission. This module is browser compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";
import { groupOf } from "./terms.ts";

/** Points by the number of unfamiliar links; more are as the last. */
const linkPoints = [0, 16, 26, 36, 48];
/** So many listings and photos are nothing. */
const familiarFree = 4;
/** A longer message is more than its link. */
const linkOnlyLengthMax = 4000;
/** `<a href`, `[url=…]`, `[link=…]`, and Markdown's `](http`. */
const markup = /<\s?a\s[^<>]{0,200}href|\[url[\]=]|\[link[\]=]|\]\(https?:|<\/a>/i;
const dot = groupOf(({ dots }) => [...dots, "\\."]);
/** An address that is spelled so that filters miss it. */
export const disguised = new RegExp(
  `[[({]\\s?${dot}\\s?[\\])}]\\s?(com|net|org|info|biz|io|ru|xyz|example)\\b|hxxps?:`,
  "i",
);

/** Scores the links of a submission. */
export function scoreLinks(reading: Reading): readonly SpamReason[] {
  const reasons: SpamReason[] = [];
  const texts = reading.filter(({ role }) => role === "message" || role === "answer" || role === "company");
  const links = texts.flatMap((field) => field.links);
  const unfamiliar = links.filter((link) => !link.familiar && !link.chat && !link.shortener);
  const familiarOver = Math.max(0, links.length - unfamiliar.length - familiarFree);
  const count = unfamiliar.length + familiarOver;
  reasons.push({ name: "links", points: linkPoints[Math.min(count, linkPoints.length - 1)] as number });

  const isLinkOnly = texts.some((field) =>
    field.role === "message" && field.links.some((link) => !link.familiar) && wordsBesides(field.text) <= 3
  );
  if (isLinkOnly) reasons.push({ name: "link_only", points: 25 });

  const personal = reading.filter(({ role }) => role === "name" || role === "phone" || role === "place");
  const misplaced = personal.flatMap((field) => field.links);
  if (misplaced.length > 0) {
    reasons.push({
      name: "link_in_name",
      points: misplaced.some((link) => link.explicit || link.shortener) ? 50 : 35,
    });
  }

  const all = [
    ...links,
    ...misplaced,
    ...reading.filter(({ role }) => role === "link").flatMap((field) => field.links),
  ];
  if (all.some((link) => link.shortener)) reasons.push({ name: "link_shortener", points: 25 });
  if (all.some((link) => link.odd)) reasons.push({ name: "link_odd_host", points: 30 });
  if (all.some((link) => link.cheap)) reasons.push({ name: "link_cheap_domain", points: 18 });
  if (all.some((link) => link.chat)) reasons.push({ name: "chat_link", points: 26 });
  if (all.some((link) => link.disguised) || texts.some(({ text }) => disguised.test(text))) {
    reasons.push({ name: "link_disguised", points: 30 });
  }
  if (reading.some(({ text }) => markup.test(text))) reasons.push({ name: "link_markup", points: 45 });
  return reasons;
}

/** The number of words of a text that are no link. */
function wordsBesides(text: string): number {
  if (text.length > linkOnlyLengthMax) return Infinity;
  return text.split(/\s+/).filter((part) => !/[.][a-z]{2}|:\/\//i.test(part)).length;
}
