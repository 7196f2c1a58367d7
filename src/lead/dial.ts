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
  /** `tel:`, `+` and digits, and `;ext=` with the extension's digits where there is one. Source: RFC 3966, section 3. */
  readonly uri: string;
  /** For people: `(503) 555-0100 ext. 12`, or `+41 44 668 18 00` where the lead is in another country than the number. */
  readonly shown: string;
}

/** What is longer is no number: twice what the envelope takes. */
const writtenLengthMax = 128;

/** A number and what stands behind it: `x12`, `ext. 12`, `extension 12`, `#12`, `;ext=12`, and Canada's `poste 12`. */
const withExtension = /^(.*[\d)])[\s,;-]*(?:ext(?:n|ension)?|x|#|poste)[\s.:=]*(\d{1,7})$/i;

/**
 * Reads a number, as it was normalized or as it was sent; `country` is the normalized one of the lead's place. `null`
 * for what cannot be dialled without a doubt.
 *
 * Chosen: besides what the envelope normalizes, numbers of other countries, because a customer abroad has nothing else
 * to call; from digits and formatting alone, because the library would make a number of letters too. With a `+` or the
 * country's own prefix for calls abroad, it is enough that the library finds the length possible; otherwise the number
 * has to be valid and written as at home, because ten bare digits are a number in many countries.
 */
export function dialable(sent: string, country: string): Dialable | null {
  if (sent.length > writtenLengthMax) return null;
  const [, base = sent, extension] = withExtension.exec(sent) ?? [];
  const normal = toE164(base, country);
  const plain = normal ?? plainNumber(base);
  if (plain === null) return null;
  const home = isSupportedCountry(country) ? country : undefined;
  const number = parsePhoneNumberFromString(plain, home as CountryCode);
  // A number that the envelope has normalized is dialled, whether or not it exists.
  if (number === undefined || normal === null && !isCertain(number, plain)) return null;
  if (extension !== undefined) number.setExt(extension);
  const isNear = home !== undefined && getCountryCallingCode(home) === number.countryCallingCode;
  return { uri: number.getURI(), shown: isNear ? number.formatNational() : number.formatInternational() };
}

function isCertain(number: PhoneNumber, plain: string): boolean {
  const digits = number.number.slice(1);
  const isInternational = plain.startsWith("+") || plain.length > digits.length && plain.endsWith(digits);
  if (isInternational) return number.isPossible();
  return number.isValid() && plain === number.formatNational().replace(/\D/g, "");
}
