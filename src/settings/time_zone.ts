/** Parses time zone names. */

import { likelyName } from "../contract/likely_name.ts";

/**
 * A zone's IANA name, such as `Europe/Berlin` or `UTC`, or `null`.
 *
 * Chosen: no offsets (+02:00) or abbreviations (EST), which ignore daylight saving time.
 */
export function timeZoneName(text: string): string | null {
  // Shortcut: the first use of the runtime's zones costs 10 ms of processor time and 6 MiB.
  if (/^utc$/i.test(text)) return "UTC";
  if (!/^[a-z]\w*\/.+$/i.test(text)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return null;
  }
}

/** The likely zone for a misspelled name or a city, or `null`. */
export function likelyTimeZone(name: string): string | null {
  const names = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const cities = new Map(names.map((one) => [one.slice(one.lastIndexOf("/") + 1), one]));
  return likelyName(name, names) ?? cities.get(likelyName(name, [...cities.keys()]) ?? "") ?? null;
}
