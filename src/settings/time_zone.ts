/**
 * The names of time zones, as an operator writes them.
 *
 * @module
 */

import { likelyName } from "../contract/likely_name.ts";

/**
 * The name of a zone as the IANA database spells it, such as `Europe/Berlin` or `UTC`; `null` when there is none.
 *
 * Chosen: no offsets (+02:00) and no abbreviations (EST), because neither knows of summer time.
 */
export function timeZoneName(text: string): string | null {
  // Without a look at the runtime's zones, of which the first costs 10 ms of processor time and 6 MiB of memory.
  if (/^utc$/i.test(text)) return "UTC";
  if (!/^[a-z]\w*\/.+$/i.test(text)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return null;
  }
}

/** The zone that a misspelled name, or the name of a city alone, most likely stands for; `null` when none is like it. */
export function likelyTimeZone(name: string): string | null {
  const names = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const cities = new Map(names.map((one) => [one.slice(one.lastIndexOf("/") + 1), one]));
  return likelyName(name, names) ?? cities.get(likelyName(name, [...cities.keys()]) ?? "") ?? null;
}
