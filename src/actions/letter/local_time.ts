/**
 * Times as the people of a tenant read them: by their own clock, with the zone said.
 *
 * @module
 */

const formats = {
  /** Thursday, September 3, 2026 at 7:05 AM PDT */
  moment: {
    ...{ weekday: "long", year: "numeric", month: "long", day: "numeric" },
    ...{ hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  },
  /** Sep 3, 7:05 AM PDT */
  brief: { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  /** Thursday, September 3 */
  day: { weekday: "long", month: "long", day: "numeric" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/**
 * The time in words, in English, as is everything that the service writes.
 *
 * Chosen: a zone that this process does not know, since it has other tables of them than the database, is UTC: a mail
 * without the wished zone is better than none.
 */
export function localTime(at: string | number, timeZone: string, form: keyof typeof formats): string {
  const format = (zone: string) => new Intl.DateTimeFormat("en-US", { ...formats[form], timeZone: zone });
  let made: Intl.DateTimeFormat;
  try {
    made = format(timeZone);
  } catch {
    made = format("UTC");
  }
  // Some runtimes put a narrow space before AM and PM.
  return made.format(new Date(at)).replace(/\p{Zs}/gu, " ");
}
