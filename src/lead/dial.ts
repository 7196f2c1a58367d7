/** Phone numbers to dial and to display. This module is browser compatible. */

import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
  type PhoneNumber,
} from "libphonenumber-js/min";
import { plainNumber, toE164 } from "./phone.ts";

export interface Dialable {
  /** `+` and digits only. */
  readonly uri: string;
  /** For display: national format in the lead's country, otherwise international. */
  readonly shown: string;
}

const writtenLengthMax = 128;

/** A number and its extension: `x12`, `ext. 12`, `extension 12`, `#12`, `;ext=12`, and Canada's `poste 12`. */
const withExtension = /^(.*[\d)])[\s,;-]*(?:ext(?:n|ension)?|x|#|poste)[\s.:=]*(\d{1,7})$/i;

/**
 * Reads a number as normalized or as sent; `country` is the lead's. `null` if it is ambiguous or not a number. A
 * foreign number must be valid, and have a `+` or be written as at home.
 */
export function dialable(sent: string, country: string): Dialable | null {
  if (sent.length > writtenLengthMax) return null;
  const [, base = sent, extension] = withExtension.exec(sent) ?? [];
  const normal = toE164(base, country);
  const plain = normal ?? plainNumber(base);
  if (plain === null) return null;
  const home = isSupportedCountry(country) ? country : undefined;
  const number = parsePhoneNumberFromString(plain, home as CountryCode);
  // A normalized number is dialed even if it is not assigned.
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
