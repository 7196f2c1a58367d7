/**
 * What the mail address and the phone number say. This module is browser compatible.
 *
 * @module
 */

import { isGibberish } from "./gibberish.ts";
import { fieldsOf, type Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";

/** A local part of 64 characters, `@` and the longest host there is. */
const addressMax = 320;
const disposable =
  /@(.*\.)?(10minutemail|discard|dispostable|fakeinbox|getnada|guerrillamail|mailcatch|maildrop|mailinator|mailnesia|moakt|mohmal|mytemp|sharklasers|temp-?mail|tempr|throwaway|trashmail|yopmail)\./;

/** How the sender may be reached. */
export function contactSigns(reading: Reading): readonly Sign[] {
  const addresses = fieldsOf(reading, "email").map(({ text }) => text.slice(0, addressMax).toLowerCase());
  const names = fieldsOf(reading, "name").flatMap(({ words }) => words);
  return [
    [
      "gibberish_contact",
      addresses.some(isMadeUp) || fieldsOf(reading, "phone").some(({ text }) => isNobodys(text)),
    ],
    ["disposable_mail", addresses.some((address) => disposable.test(address))],
    [
      "mail_unlike_name",
      names.length > 0 && addresses.length > 0 && !addresses.some((one) => isOf(one, names)),
    ],
  ];
}

/** Dots strewn over a Gmail address make any number of it; random letters are an account made by a program. */
function isMadeUp(address: string): boolean {
  const [local = "", domain] = address.split("@");
  const dots = local.split(".").length - 1;
  return domain === "gmail.com" && dots >= 4 || isGibberish(local.replaceAll(/[^a-z]/g, ""));
}

/** A number nobody has, or one in the form that a well-known mass-posting program makes up. */
function isNobodys(text: string): boolean {
  const digits = text.slice(0, 40).replaceAll(/\D/g, "");
  return /^(\d)\1{6,}$/.test(digits) || digits === "1234567890" || digits === "0123456789" ||
    digits.length === 11 && digits.startsWith("8") && !text.includes("+");
}

/** Whether an address has a part of the name, or its initial. */
function isOf(address: string, names: readonly string[]): boolean {
  return names.some((name) => address.includes(name.slice(0, 4)) || address.startsWith(name.charAt(0)));
}
