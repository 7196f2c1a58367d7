/**
 * A phone number as it is dialled and as people write it. This module is browser compatible.
 *
 * @module
 */

import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
  type PhoneNumber,
} from "libphonenumber-js/min";
import { plainNumber, toE164 } from "./phone.ts";

/** A number that can be dialled. */
export interface Dialable {
  /** `+` and digits, nothing else. */
  readonly e164: string;
  /** For people: `(503) 555-0100`, or `+41 44 668 18 00` where the lead is in another country than the number. */
  readonly shown: string;
}

/** What is longer is no number: twice what the envelope takes. */
const writtenLengthMax = 128;

/**
 * Reads a number, as it was normalized or as it was sent; `country` is the normalized one of the lead's place. `null`
 * for what cannot be dialled without a doubt.
 *
 * Chosen: besides what the envelope normalizes, numbers of other countries that the library knows as valid, because a
 * customer abroad has nothing else to call; from digits and formatting alone, because the library would make a number
 * of letters too; with a `+`, or as they are written at home, because ten bare digits are a number in many countries.
 */
export function dialable(sent: string, country: string): Dialable | null {
  if (sent.length > writtenLengthMax) return null;
  const normal = toE164(sent, country);
  const plain = normal ?? plainNumber(sent);
  if (plain === null) return null;
  const home = isSupportedCountry(country) ? country : undefined;
  const number = parsePhoneNumberFromString(plain, home as CountryCode);
  // A number that the envelope has normalized is dialled, whether or not it exists.
  if (number === undefined || normal === null && !isCertain(number, plain)) return null;
  const isNear = home !== undefined && getCountryCallingCode(home) === number.countryCallingCode;
  return { e164: number.number, shown: isNear ? number.formatNational() : number.formatInternational() };
}

function isCertain(number: PhoneNumber, plain: string): boolean {
  if (!number.isValid()) return false;
  return plain.startsWith("+") || plain === number.formatNational().replace(/\D/g, "");
}
