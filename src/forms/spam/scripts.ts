/**
 * Letters that pretend to be others. A language is never a fault by itself. This module is browser compatible.
 *
 * @module
 */

import { isLookAlike, isPlain } from "./fold.ts";
import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";

const words = /[\p{L}\p{M}]+/gu;
const twins = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const latin = /\p{Script=Latin}/u;
/** Mathematical and enclosed alphanumerics, and the regional indicators used as letters stay out: they are flags. */
const styled = /[\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f189}\u24b6-\u24e9]/gu;
const fullWidth = /[\uff21-\uff3a\uff41-\uff5a]/g;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const hidden = /\p{Script=Latin}[\u00ad\u200b-\u200d\u2060\ufeff]+(?=\p{Script=Latin})/gu;
const override = /[\u202d\u202e]/;

/** Scores letters and scripts. */
export function scoreScripts(reading: Reading): readonly SpamReason[] {
  let mixed = 0;
  let concealed = 0;
  let decorated = 0;
  for (const { text } of reading) {
    if (isPlain(text)) continue;
    for (const [word] of text.matchAll(words)) if (isDisguised(word)) mixed++;
    concealed += text.match(hidden)?.length ?? 0;
    if (override.test(text)) concealed += 3;
    decorated += text.match(styled)?.length ?? 0;
    if (!eastAsian.test(text)) decorated += text.match(fullWidth)?.length ?? 0;
  }
  return [
    { name: "mixed_scripts", points: mixed === 0 ? 0 : mixed === 1 ? 30 : 50 },
    { name: "hidden_characters", points: concealed >= 3 ? 35 : concealed === 2 ? 15 : 0 },
    { name: "styled_letters", points: decorated >= 4 ? 22 : 0 },
    { name: "foreign_script", points: isForeign(reading) ? 10 : 0 },
  ];
}

/**
 * Tells whether a word mixes Latin with look-alikes: all its other letters have a Latin twin, so that a reader
 * does not see the seam. `iPhoneов` shows it; `kΩ` and `µm` are units.
 */
function isDisguised(word: string): boolean {
  if (word.length < 4 || !twins.test(word) || !latin.test(word)) return false;
  return [...word.toLowerCase()].every((letter) => !twins.test(letter) || isLookAlike(letter));
}

/** Tells whether the name is Latin and nearly all letters of the message are not. */
function isForeign(reading: Reading): boolean {
  const named = reading.filter(({ role }) => role === "name").map(({ text }) => text).join(" ");
  if (!latin.test(named)) return false;
  const message = reading.filter(({ role }) => role === "message").map(({ text }) => text).join(" ");
  const letters = message.match(/\p{L}/gu)?.length ?? 0;
  const latins = message.match(/\p{Script=Latin}/gu)?.length ?? 0;
  return letters >= 10 && latins * 5 < letters;
}
