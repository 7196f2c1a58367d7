/**
 * What the mail address and the phone number say. This module is browser compatible.
 *
 * @module
 */

import { fields } from "../../contract/fields.ts";
import { disposableDomains } from "./data/disposable_domains.ts";
import { isGibberish } from "./gibberish.ts";
import { isListed } from "./find_links.ts";
import type { Reading } from "./reading.ts";
import type { SpamReason } from "./reasons.ts";

/** A local part of 64 characters, `@` and the longest host there is. */
const addressLengthMax = 320;

/** Scores the ways in which a sender may be reached. */
export function scoreContact(reading: Reading): readonly SpamReason[] {
  const addresses = reading.filter(({ role }) => role === "email").map(({ text }) =>
    text.slice(0, addressLengthMax).toLowerCase()
  );
  const phones = reading.filter(({ role }) => role === "phone");
  const isDisposable = addresses.some((address) =>
    isListed(disposableDomains, address.slice(address.lastIndexOf("@") + 1))
  );
  const mail = Math.max(0, ...addresses.map(addressPoints));
  const phone = Math.max(
    0,
    ...phones.map(({ text, words }) => words.some((word) => isGibberish(word)) ? 15 : phonePoints(text)),
  );
  return [
    { name: "gibberish_contact", points: mail + phone },
    { name: "disposable_mail", points: isDisposable ? 36 : 0 },
  ];
}

/** Dots strewn over a Gmail address make any number of it; random letters are an account made by a program. */
function addressPoints(address: string): number {
  const at = address.lastIndexOf("@");
  const local = at < 0 ? address : address.slice(0, at);
  const domain = address.slice(at + 1);
  const dots = local.split(".").length - 1;
  if (dots >= 4 && domain === "gmail.com") return 25;
  if (dots === 3 && domain === "gmail.com" && /\d/.test(local)) return 12;
  return isGibberish(local.replaceAll(/[^a-z]/g, "")) ? 10 : 0;
}

/** A number nobody has, or one in the form that a well-known mass-posting program makes up. */
function phonePoints(text: string): number {
  const digits = text.slice(0, fields.phone.lengthMax).replaceAll(/\D/g, "");
  if (/^(\d)\1{6,}$/.test(digits) || digits === "1234567890" || digits === "0123456789") return 8;
  return digits.length === 11 && digits.startsWith("8") && !text.includes("+") ? 14 : 0;
}
