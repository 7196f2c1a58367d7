/**
 * The `Accept-Encoding` header. RFC 9110, section 12.5.3.
 *
 * @module
 */

/** What a client takes, by content coding in lower case; `*` stands for those not named. */
export type Weights = ReadonlyMap<string, number>;

/** Reads the header; a member with a malformed weight is left out. No header means that nothing was said. */
export function parseAcceptEncoding(header: string | undefined): Weights {
  const weights = new Map<string, number>();
  for (const member of (header ?? "").toLowerCase().split(",")) {
    const [, coding = "", weight = "1"] =
      /^\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/.exec(member) ?? [];
    // A weight is 1 at most.
    if (coding !== "" && Number(weight) <= 1) weights.set(aliases[coding] ?? coding, Number(weight));
  }
  return weights;
}

const aliases: Readonly<Record<string, string>> = { "x-gzip": "gzip" };

/** How much a client wants a content coding; 0 is not at all. */
export function weightOf(weights: Weights, coding: string): number {
  const weight = weights.get(coding) ?? weights.get("*");
  if (coding !== "identity") return weight ?? 0;
  // Not named it is acceptable, after all that is.
  return weight ?? Number.MIN_VALUE;
}

/**
 * The one of `available` that the client wants most, the first of several alike; `null` when it takes none of
 * them. What is not coded is called `identity`.
 */
export function preferredCoding<T extends string>(weights: Weights, available: readonly T[]): T | null {
  let best: T | null = null;
  let bestWeight = 0;
  for (const coding of available) {
    const weight = weightOf(weights, coding);
    if (weight > bestWeight) [best, bestWeight] = [coding, weight];
  }
  return best;
}
