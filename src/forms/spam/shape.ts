/**
 * How a text looks: capitals, marks, left-over templates, attacks. This module is browser compatible.
 *
 * @module
 */

import { locales } from "./locale/locales.ts";
import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";

/** Wordings to choose from, and what a mass-mailing program should have filled in. */
const templates = [
  /\{[\p{L}' ]{2,30}\|[\p{L}' |]{2,200}\}|#file_links/iu,
  ...locales.flatMap(({ placeholder }) => placeholder ?? []),
];

/** What scanners send; each is beyond what a person types about a house. */
const probe =
  /<script|<img[^<>]{0,80}onerror|<iframe|javascript:|\bunion (all )?select\b|' ?(or|and) ?'?\d+'? ?= ?'?\d|\bor 1=1|\$\{jndi:|\{\{\d+\*\d+\}\}|\$\{\d+\*\d+\}|\.\.\/\.\.\/|\/etc\/passwd|sleep\(\d+\)|waitfor delay|\bxp_cmdshell|<\?php|(\n|\r|%0a)(b?cc|content-type|mime-version): ?[^\s@]{1,60}[@\/]|%0d%0a|<!entity|\$\(\w{2,20}[^)]{0,60}\)|;\s?(cat|wget|curl|nslookup|ping) [-\/h]|@@version|extractvalue\(|dbms_pipe|response\.write\(/i;

const exclamation = /!/g;
const money = /[$€£]{2,}|💰|💵|🤑/u;
const emoji = /\p{Extended_Pictographic}/gu;

/** Scores the look of a submission. */
export function scoreShape(reading: Reading): readonly SpamReason[] {
  const free = reading.filter(({ role }) => role === "message" || role === "answer" || role === "company");
  return [
    { name: "template_left", points: templatePoints(reading) },
    { name: "attack_probe", points: reading.some(({ text }) => probe.test(text)) ? 60 : 0 },
    // Many people write in capitals all their lives: only worth a word next to other signs.
    { name: "shouting", points: free.some(({ text }) => isShouted(text)) ? 4 : 0 },
    { name: "punctuation", points: Math.min(24, free.reduce((sum, { text }) => sum + markPoints(text), 0)) },
  ];
}

/** Square brackets may be a broken site's own; braces come from a program that mails. */
function templatePoints(reading: Reading): number {
  if (!reading.some(({ text }) => templates.some((template) => template.test(text)))) return 0;
  return reading.some(({ text }) => /\{/.test(text)) ? 50 : 40;
}

function isShouted(text: string): boolean {
  const upper = text.match(/\p{Lu}/gu)?.length ?? 0;
  const lower = text.match(/\p{Ll}/gu)?.length ?? 0;
  return upper >= 40 && upper > 4 * lower;
}

function markPoints(text: string): number {
  const exclamations = text.match(exclamation)?.length ?? 0;
  const emojis = text.match(emoji)?.length ?? 0;
  const isDense = emojis >= 4 && emojis * 25 > text.length;
  return (exclamations >= 12 ? 8 : exclamations >= 6 ? 4 : 0) + (money.test(text) ? 10 : 0) +
    (isDense ? 10 : 0);
}
