/**
 * How a text looks: capitals, marks, left-over templates, attacks, letters that pretend to be others. This module is browser
 * compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";

/** Wordings to choose from, and what a mass-mailing program should have filled in. */
const template =
  /\{[\p{L}' ]{2,30}\|[\p{L}' |]{2,200}\}|#file_links|\{\{?\s?(first|last|full|your|business|company)?_?(name|domain|website|company|city|url)\s?\}?\}|\[(first|last|business|company|your|website|domain)[ _]?(name|url)?\]|%(domain|name|company|first_?name|website)%|\[(nombre|empresa|nom|prénom|entreprise)\]/iu;
/** What scanners send; each is beyond what a person types about a house. */
const probe =
  /<script|<img[^<>]{0,80}onerror|<iframe|javascript:|\bunion (all )?select\b|' ?(or|and) ?'?\d+'? ?= ?'?\d|\bor 1=1|\$\{jndi:|\{\{\d+\*\d+\}\}|\$\{\d+\*\d+\}|\.\.\/\.\.\/|\/etc\/passwd|sleep\(\d+\)|waitfor delay|\bxp_cmdshell|<\?php|(\n|\r|%0a)(b?cc|content-type|mime-version): ?[^\s@]{1,60}[@\/]|%0d%0a|<!entity|\$\(\w{2,20}[^)]{0,60}\)|;\s?(cat|wget|curl|nslookup|ping) [-\/h]|@@version|extractvalue\(|dbms_pipe|response\.write\(/i;
const plain = /^\p{ASCII}*$/u;
const words = /[\p{L}\p{M}]+/gu;
const twins = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const twinsOnly = /^[\p{Script=Latin}аеорсухіјѕԁԛԝһкмтαορνυικτχ]+$/u;
const latin = /\p{Script=Latin}/u;
/** Mathematical and enclosed alphanumerics; the regional indicators used as letters stay out: they are flags. */
const styled = /[\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f189}\u24b6-\u24e9\uff21-\uff3a\uff41-\uff5a]/gu;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const hidden = /\p{Script=Latin}[\u00ad\u200b-\u200d\u2060\ufeff]+(?=\p{Script=Latin})|[\u202d\u202e]/gu;

/** What the look of a submission says. */
export function shapeSigns(reading: Reading): readonly Sign[] {
  const shown = reading.fields.map((field) => field.shown);
  const wide = shown.filter((text) => !plain.test(text));
  return [
    ["template_left", shown.some((text) => template.test(text))],
    ["attack_probe", shown.some((text) => probe.test(text))],
    ["mixed_scripts", wide.some((text) => text.match(words)?.some(isDisguised))],
    ["hidden_characters", wide.some((text) => count(text, hidden) >= 2)],
    ["styled_letters", wide.some((text) => !eastAsian.test(text) && count(text, styled) >= 4)],
  ];
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/**
 * A word that mixes Latin with look-alikes, so that a reader does not see the seam. `iPhoneов` shows it; `kΩ` and `µm` are
 * units.
 */
function isDisguised(word: string): boolean {
  return word.length >= 4 && twins.test(word) && latin.test(word) && twinsOnly.test(word.toLowerCase());
}
