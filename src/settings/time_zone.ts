/** Parses time zone names. */

import { likelyName } from "../contract/likely_name.ts";

/**
 * Returns a zone's IANA name, such as `Europe/Berlin` or `UTC`; `null` if there is no such zone.
 *
 * Chosen: no offsets (+02:00) or abbreviations (EST), which ignore daylight saving time.
 */
export function timeZoneName(text: string): string | null {
  // The default is handled separately, because loading the runtime's zones costs 10 ms of CPU time and 6 MiB.
  if (/^utc$/i.test(text)) return "UTC";
  if (!/^[a-z]\w*\/.+$/i.test(text)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return null;
  }
}

/** Returns the likely zone for a misspelled name or a city, or `null`. */
export function likelyTimeZone(name: string): string | null {
  const names = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const cities = new Map(names.map((zone) => [zone.slice(zone.lastIndexOf("/") + 1), zone]));
  return likelyName(name, names) ?? cities.get(likelyName(name, [...cities.keys()]) ?? "") ?? null;
}
