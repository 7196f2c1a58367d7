/**
 * Dates of HTTP headers. RFC 9110, section 5.6.7.
 *
 * @module
 */

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const shapes = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  /^\w{3}, (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sunday, 06-Nov-94 08:49:37 GMT
  /^\w{6,9}, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sun Nov  6 08:49:37 1994
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/i,
];

/** A time in milliseconds as HTTP writes it, to the second. */
export function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}

/** Milliseconds of a date in any of HTTP's three formats; `null` for anything else, which is to be ignored. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const found = shapes.map((shape) => shape.exec(text)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return null;
  const { day = "", month = "", year = "", time = "" } = found;
  const index = months.indexOf(month.toLowerCase());
  const [hours, minutes, seconds] = time.split(":").map(Number) as [number, number, number];
  if (index === -1 || hours > 23 || minutes > 59 || seconds > 60) return null;
  const fullYear = year.length === 2 ? nearestYear(Number(year), nowMs) : Number(year);
  const atMs = Date.UTC(fullYear, index, Number(day), hours, minutes, seconds);
  // A day that the month does not have.
  return new Date(atMs).getUTCDate() === Number(day) || seconds === 60 ? atMs : null;
}

/** A year of two digits that would be more than 50 years ahead was in the past. */
function nearestYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
