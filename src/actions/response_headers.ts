/** Chooses the headers of a recipient's response that operators see. */

/**
 * The headers that say what a response is, when to try again, how much of a limit is left, and which request to name to the
 * vendor's support. Everything else, cookies above all, is left out.
 */
const chosen =
  /^(?:content-type|retry-after|cf-ray|sforce-limit-info|x-daily-requests-left|(?:[a-z0-9]+-)*(?:request-?id|req-id|correlation-?id|trace-?id)|(?:[a-z0-9]+-)*rate-?limit(?:-[a-z0-9-]+)?)$/;

const nameLengthMax = 64;
const valueLengthMax = 200;
const headersMax = 12;

/**
 * Returns the chosen headers; at most 12, with the first 200 characters of each value, without control characters. `hide` masks the
 * secrets in a value.
 */
export function responseHeaders(
  fields: Readonly<Record<string, string>>,
  hide = (value: string) => value,
): Readonly<Record<string, string>> {
  const found = Object.entries(fields).filter(([name]) => name.length <= nameLengthMax && chosen.test(name));
  return Object.fromEntries(
    found.slice(0, headersMax).map(([name, value]) => [
      name,
      hide(value).slice(0, valueLengthMax).replace(/\p{Cc}+/gu, " ").trim(),
    ]),
  );
}
