/** Finds the spam signals other than words, links and random letters. This module is browser compatible. */

import { isGibberish } from "./gibberish.ts";
import {
  excerptMax,
  fieldsWithRole,
  type FormValue,
  type ParsedField,
  type ParsedSubmission,
  type Submission,
} from "./parse.ts";
import type { Signal } from "./reasons.ts";

/** Matches spintax, and placeholders that a mailing program did not replace. */
const template =
  /\{[\p{L}' ]{2,30}\|[\p{L}' |]{2,200}\}|#file_links|\{\{?\s?(first|last|full|your|business|company)?_?(name|domain|website|company|city|url)\s?\}?\}|\[(first|last|business|company|your|website|domain)[ _]?(name|url)?\]|%(domain|name|company|first_?name|website)%|\[(nombre|empresa|nom|prénom|entreprise)\]/iu;
/** Matches probes of vulnerability scanners. */
const probe =
  /<script|<img[^<>]{0,80}onerror|<iframe|javascript:|\bunion (all )?select\b|' ?(or|and) ?'?\d+'? ?= ?'?\d|\bor 1=1|\$\{jndi:|\{\{\d+\*\d+\}\}|\$\{\d+\*\d+\}|\.\.\/\.\.\/|\/etc\/passwd|sleep\(\d+\)|waitfor delay|\bxp_cmdshell|<\?php|(\n|\r|%0a)(b?cc|content-type|mime-version): ?[^\s@]{1,60}[@\/]|%0d%0a|<!entity|\$\(\w{2,20}[^)]{0,60}\)|;\s?(cat|wget|curl|nslookup|ping) [-\/h]|@@version|extractvalue\(|dbms_pipe|response\.write\(/i;
const ascii = /^\p{ASCII}*$/u;
const letterRuns = /[\p{L}\p{M}]+/gu;
const lookAlike = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const lookAlikesOnly = /^[\p{Script=Latin}аеорсухіјѕԁԛԝһкмтαορνυικτχ]+$/u;
const latin = /\p{Script=Latin}/u;

/** Returns the signals in the content of all fields. */
export function contentSignals(parsed: ParsedSubmission): readonly Signal[] {
  const excerpts = parsed.fields.flatMap((
    { excerpt, disclosure },
  ) => [excerpt, disclosure.slice(0, excerptMax)]);
  const nonAscii = excerpts.filter((text) => !ascii.test(text));
  return [
    ["template_left", excerpts.some((text) => template.test(text))],
    ["attack_probe", excerpts.some((text) => probe.test(text))],
    ["mixed_scripts", nonAscii.some((text) => text.match(letterRuns)?.some(isDisguised))],
    ["spaced_letters", isSpacedOut(parsed)],
    ["same_value", isNameRepeated(parsed.fields)],
  ];
}

/** Whether many words of a text are single letters, which hide words from the model ("W e o ffer s eo"). */
function isSpacedOut(parsed: ParsedSubmission): boolean {
  return fieldsWithRole(parsed, "message", "text", "company", "answer").some(({ words }) => {
    const latin = words.filter((word) => /^[a-z]/.test(word));
    return latin.length >= 12 && latin.filter((word) => word.length === 1).length >= 0.3 * latin.length;
  });
}

/** Whether a word of at least four letters mixes Latin letters and look-alikes, unlike `iPhoneов` and `kΩ`. */
function isDisguised(word: string): boolean {
  return word.length >= 4 && lookAlike.test(word) && latin.test(word) &&
    lookAlikesOnly.test(word.toLowerCase());
}

/** Whether a name is also a message, a phone number or part of the address. */
function isNameRepeated(fields: readonly ParsedField[]): boolean {
  const names = new Set(fields.filter(({ role }) => role === "name").map(({ folded }) => folded.trim()));
  return fields.some(({ role, folded }) =>
    (role === "message" || role === "phone" || role === "place") && folded.length >= 4 &&
    names.has(folded.trim())
  );
}

/** The maximum length of an email address: 64 characters, `@`, and a host name of 255. */
const addressMax = 320;
const disposable =
  /@(.*\.)?(10minutemail|discard|dispostable|fakeinbox|getnada|guerrillamail|mailcatch|maildrop|mailinator|mailnesia|moakt|mohmal|mytemp|sharklasers|temp-?mail|tempr|throwaway|trashmail|yopmail)\./;

/** Returns the signals in the sender's email address and phone number. */
export function contactSignals(parsed: ParsedSubmission): readonly Signal[] {
  const addresses = fieldsWithRole(parsed, "email").map(({ text }) =>
    text.slice(0, addressMax).toLowerCase()
  );
  const names = fieldsWithRole(parsed, "name").flatMap(({ words }) => words);
  return [
    [
      "gibberish_contact",
      addresses.some(looksGenerated) ||
      fieldsWithRole(parsed, "phone").some(({ text }) => isImpossibleNumber(text)),
    ],
    ["disposable_mail", addresses.some((address) => disposable.test(address))],
    [
      "mail_unlike_name",
      names.length > 0 && addresses.length > 0 && !addresses.some((address) => matchesName(address, names)),
    ],
  ];
}

/** Whether an email address looks generated: many dots in a Gmail address, or random letters. */
function looksGenerated(address: string): boolean {
  const [local = "", domain] = address.split("@");
  const dots = local.split(".").length - 1;
  return domain === "gmail.com" && dots >= 4 || isGibberish(local.replaceAll(/[^a-z]/g, ""));
}

/** Whether a phone number cannot exist, or resembles those that a known spam program generates. */
function isImpossibleNumber(text: string): boolean {
  const digits = text.slice(0, 40).replaceAll(/\D/g, "");
  return /^(\d)\1{6,}$/.test(digits) || digits === "1234567890" || digits === "0123456789" ||
    digits.length === 11 && digits.startsWith("8") && !text.includes("+");
}

/** Whether an email address contains the first letters of a name, or starts with its initial. */
function matchesName(address: string, names: readonly string[]): boolean {
  return names.some((name) => address.includes(name.slice(0, 4)) || address.startsWith(name.charAt(0)));
}

/** The names for the time when the form was opened (ISO 8601 with a zone, or Unix time), most preferred first. */
export const startedAtNames = ["form_started_at", "_started_at", "form_loaded_at", "_loaded_at"] as const;

const iso = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/i;
const digits = /^\d{10}(\d{3})?(\.\d{1,6})?$/;
/** The maximum time between opening and sending a form; a longer time (a forgotten tab, a cached page) is ignored. */
const openMsMax = 24 * 60 * 60 * 1000;

/**
 * Returns the signal for a form that was filled in too fast; ignores an invalid time. Chosen: this signal alone never
 * holds a submission, because clocks differ and a site may set the field only when it sends the form.
 */
export function timingSignals(submission: Submission, receivedAtMs: number): readonly Signal[] {
  const name = startedAtNames.find((known) => submission.has(known));
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
