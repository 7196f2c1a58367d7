/** Content negotiation by `Accept-Encoding` (RFC 9110, section 12.5.3). */

/** The weights by content coding in lower case; the weight of `*` applies to all codings that are not listed. */
type Weights = ReadonlyMap<string, number>;

/** Parses `Accept-Encoding` and ignores malformed members. */
export function parseAcceptEncoding(header: string | undefined): Weights {
  const weights = new Map<string, number>();
  for (const member of (header ?? "").toLowerCase().split(",")) {
    const [, coding = "", weight = "1"] =
      /^\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/.exec(member) ?? [];
    if (coding !== "" && Number(weight) <= 1) weights.set(aliases[coding] ?? coding, Number(weight));
  }
  return weights;
}

const aliases: Readonly<Record<string, string>> = { "x-gzip": "gzip" };

/** Returns a coding's weight; 0 means not acceptable. */
export function weightOf(weights: Weights, coding: string): number {
  const weight = weights.get(coding) ?? weights.get("*");
  if (coding !== "identity") return weight ?? 0;
  // Without a weight, the identity coding is acceptable, but preferred least.
  return weight ?? Number.MIN_VALUE;
}

/** Returns the available coding with the highest weight (the first, if there is a tie); `null` if none is acceptable. */
export function preferredCoding<T extends string>(weights: Weights, available: readonly T[]): T | null {
  let preferred: T | null = null;
  let preferredWeight = 0;
  for (const coding of available) {
    const weight = weightOf(weights, coding);
    if (weight > preferredWeight) [preferred, preferredWeight] = [coding, weight];
  }
  return preferred;
}
