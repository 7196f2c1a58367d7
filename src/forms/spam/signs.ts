/** Signs of a submission other than words, links and random letters. This module is browser compatible. */

import { isGibberish } from "./gibberish.ts";
import { fieldsOf, type FormValue, type ReadField, type Reading, type Submission } from "./reading.ts";
import type { Sign } from "./reasons.ts";

/** Spintax, and placeholders that a mailing program left unfilled. */
const template =
  /\{[\p{L}' ]{2,30}\|[\p{L}' |]{2,200}\}|#file_links|\{\{?\s?(first|last|full|your|business|company)?_?(name|domain|website|company|city|url)\s?\}?\}|\[(first|last|business|company|your|website|domain)[ _]?(name|url)?\]|%(domain|name|company|first_?name|website)%|\[(nombre|empresa|nom|prénom|entreprise)\]/iu;
/** Probes of vulnerability scanners. */
const probe =
  /<script|<img[^<>]{0,80}onerror|<iframe|javascript:|\bunion (all )?select\b|' ?(or|and) ?'?\d+'? ?= ?'?\d|\bor 1=1|\$\{jndi:|\{\{\d+\*\d+\}\}|\$\{\d+\*\d+\}|\.\.\/\.\.\/|\/etc\/passwd|sleep\(\d+\)|waitfor delay|\bxp_cmdshell|<\?php|(\n|\r|%0a)(b?cc|content-type|mime-version): ?[^\s@]{1,60}[@\/]|%0d%0a|<!entity|\$\(\w{2,20}[^)]{0,60}\)|;\s?(cat|wget|curl|nslookup|ping) [-\/h]|@@version|extractvalue\(|dbms_pipe|response\.write\(/i;
const plain = /^\p{ASCII}*$/u;
const letterRuns = /[\p{L}\p{M}]+/gu;
const twins = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const twinsOnly = /^[\p{Script=Latin}аеорсухіјѕԁԛԝһкмтαορνυικτχ]+$/u;
const latin = /\p{Script=Latin}/u;

/** Signs in the shape of the fields. */
export function shapeSigns(reading: Reading): readonly Sign[] {
  const shown = reading.fields.map((field) => field.shown);
  const wide = shown.filter((text) => !plain.test(text));
  return [
    ["template_left", shown.some((text) => template.test(text))],
    ["attack_probe", shown.some((text) => probe.test(text))],
    ["mixed_scripts", wide.some((text) => text.match(letterRuns)?.some(isDisguised))],
    ["same_value", isSameElsewhere(reading.fields)],
  ];
}

/** A word that mixes Latin with look-alikes; `iPhoneов` and units such as `kΩ` and `µm` do not count. */
function isDisguised(word: string): boolean {
  return word.length >= 4 && twins.test(word) && latin.test(word) && twinsOnly.test(word.toLowerCase());
}

/** Whether a name is the message or the phone number too. */
function isSameElsewhere(fields: readonly ReadField[]): boolean {
  const names = new Set(fields.filter(({ role }) => role === "name").map(({ folded }) => folded.trim()));
  return fields.some(({ role, folded }) =>
    (role === "message" || role === "phone" || role === "place") && folded.length >= 4 &&
    names.has(folded.trim())
  );
}

/** The longest address: 64 characters, `@` and a host. */
const addressMax = 320;
const disposable =
  /@(.*\.)?(10minutemail|discard|dispostable|fakeinbox|getnada|guerrillamail|mailcatch|maildrop|mailinator|mailnesia|moakt|mohmal|mytemp|sharklasers|temp-?mail|tempr|throwaway|trashmail|yopmail)\./;

/** Signs in the sender's contacts. */
export function contactSigns(reading: Reading): readonly Sign[] {
  const addresses = fieldsOf(reading, "email").map(({ text }) => text.slice(0, addressMax).toLowerCase());
  const names = fieldsOf(reading, "name").flatMap(({ words }) => words);
  return [
    [
      "gibberish_contact",
      addresses.some(isThrowaway) || fieldsOf(reading, "phone").some(({ text }) => isImpossibleNumber(text)),
    ],
    ["disposable_mail", addresses.some((address) => disposable.test(address))],
    [
      "mail_unlike_name",
      names.length > 0 && addresses.length > 0 && !addresses.some((one) => isOf(one, names)),
    ],
  ];
}

/** Whether an address is throwaway: strewn dots in a Gmail name, or random letters. */
function isThrowaway(address: string): boolean {
  const [local = "", domain] = address.split("@");
  const dots = local.split(".").length - 1;
  return domain === "gmail.com" && dots >= 4 || isGibberish(local.replaceAll(/[^a-z]/g, ""));
}

/** Whether a number cannot exist, or has the form that a known spam program makes up. */
function isImpossibleNumber(text: string): boolean {
  const digits = text.slice(0, 40).replaceAll(/\D/g, "");
  return /^(\d)\1{6,}$/.test(digits) || digits === "1234567890" || digits === "0123456789" ||
    digits.length === 11 && digits.startsWith("8") && !text.includes("+");
}

/** Whether an address contains part of a name, or its initial. */
function isOf(address: string, names: readonly string[]): boolean {
  return names.some((name) => address.includes(name.slice(0, 4)) || address.startsWith(name.charAt(0)));
}

/** Names of the field with the opening time, in order of preference: ISO 8601 with a zone, or Unix time. */
export const startedAtNames = ["form_started_at", "_started_at", "form_loaded_at", "_loaded_at"] as const;

const iso = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/i;
const digits = /^\d{10}(\d{3})?(\.\d{1,6})?$/;
/** A form open for longer is a forgotten tab, or a cached page. */
const openMsMax = 24 * 60 * 60 * 1000;

/**
 * Whether the form was filled in too fast; an unreadable time is no sign. Chosen: never enough to hold by itself,
 * because clocks differ and a site may set the field when it sends.
 */
export function timingSigns(submission: Submission, receivedAtMs: number): readonly Sign[] {
  const name = startedAtNames.find((one) => submission.has(one));
  const startedAtMs = name === undefined ? undefined : readTime(submission.get(name)?.value ?? null);
  if (startedAtMs === undefined) return [];
  const openMs = receivedAtMs - startedAtMs;
  if (!(openMs >= 0 && openMs <= openMsMax)) return [];
  return [["too_fast", openMs < 2000 ? 2 : openMs < 4000 ? 1 : 0]];
}

function readTime(value: FormValue): number | undefined {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  if (digits.test(text)) {
    const [whole = ""] = text.split(".");
    return whole.length === 13 ? Number(text) : Number(text) * 1000;
  }
  if (!iso.test(text)) return undefined;
  const ms = Date.parse(text.replace(" ", "T"));
  return Number.isNaN(ms) ? undefined : ms;
}
