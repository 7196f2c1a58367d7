/** The `Accept-Encoding` header. RFC 9110, section 12.5.3. */

/** Weights by content coding in lower case; `*` for all others. */
export type Weights = ReadonlyMap<string, number>;

/** Parses the header, skipping malformed members; no header gives no weights. */
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

/** A coding's weight; 0 is refused. */
export function weightOf(weights: Weights, coding: string): number {
  const weight = weights.get(coding) ?? weights.get("*");
  if (coding !== "identity") return weight ?? 0;
  // Unnamed, it is acceptable as a last resort.
  return weight ?? Number.MIN_VALUE;
}

/** The preferred coding of `available`, the first on a tie, or `null`; uncoded is `identity`. */
export function preferredCoding<T extends string>(weights: Weights, available: readonly T[]): T | null {
  let best: T | null = null;
  let bestWeight = 0;
  for (const coding of available) {
    const weight = weightOf(weights, coding);
    if (weight > bestWeight) [best, bestWeight] = [coding, weight];
  }
  return best;
}
