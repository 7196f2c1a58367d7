/** Formats phone numbers for links and for display. This module is browser compatible. */

import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
  type PhoneNumber,
} from "libphonenumber-js/min";
import { plainNumber, toE164 } from "./phone.ts";

export interface DialableNumber {
  /** A `tel:` URI. */
  readonly uri: string;
  /**
   * The number in national format if it has the calling code of the lead's country, otherwise in international format.
   */
  readonly display: string;
}

const lengthMax = 128;

/** Matches a number and its extension: `x12`, `ext. 12`, `extension 12`, `#12`, `;ext=12`, and Canada's `poste 12`. */
const withExtension = /^(.*[\d)])[\s,;-]*(?:ext(?:n|ension)?|x|#|poste)[\s.:=]*(\d{1,7})$/i;

/**
 * Parses a phone number, normalized or as sent; `null` if the text is ambiguous or not a number. `country` is the
 * lead's country. A number that cannot be normalized must be a possible number with a country code, or a valid and
 * complete number in national format.
 */
export function parseDialableNumber(sent: string, country: string): DialableNumber | null {
  if (sent.length > lengthMax) return null;
  const [, base = sent, extension] = withExtension.exec(sent) ?? [];
  const e164 = toE164(base, country);
  const plain = e164 ?? plainNumber(base);
  if (plain === null) return null;
  const homeCountry = isSupportedCountry(country) ? country : undefined;
  const number = parsePhoneNumberFromString(plain, homeCountry as CountryCode);
  // A normalized number is dialable even if it is unassigned.
  if (number === undefined || e164 === null && !isUnambiguous(number, plain)) return null;
  if (extension !== undefined) number.setExt(extension);
  const isNational = homeCountry !== undefined &&
    getCountryCallingCode(homeCountry) === number.countryCallingCode;
  return {
    uri: number.getURI(),
    display: isNational ? number.formatNational() : number.formatInternational(),
  };
}

function isUnambiguous(number: PhoneNumber, plain: string): boolean {
  const digits = number.number.slice(1);
  const isInternational = plain.startsWith("+") || plain.length > digits.length && plain.endsWith(digits);
  if (isInternational) return number.isPossible();
  return number.isValid() && plain === number.formatNational().replace(/\D/g, "");
}
