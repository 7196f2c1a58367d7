/**
 * The `Range` header: one range of bytes. RFC 9110, section 14.
 *
 * @module
 */

/** The bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What a `Range` header asks for. */
export type RangeRequest =
  /** From `first` to `last` inclusive; `last` is `Infinity` when it is left open. */
  | { readonly kind: "from"; readonly first: number; readonly last: number }
  | { readonly kind: "suffix"; readonly length: number };

/**
 * Reads the header; `null` when it is to be ignored and the whole answered: another unit, anything malformed,
 * a last byte before the first.
 *
 * Chosen: several ranges are answered with the whole too, as the RFC allows, because their one use is to make
 * a server work: readers of databases, players and download managers ask for one at a time.
 */
export function parseRange(header: string | undefined): RangeRequest | null {
  const [, list] = /^bytes=(.*)$/i.exec(header ?? "") ?? [];
  if (list === undefined) return null;
  // A list may have empty members.
  const [range, ...others] = list.split(",").filter((member) => !/^[ \t]*$/.test(member));
  const [, first, last] = /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(range ?? "") ?? [];
  if (others.length > 0 || first === undefined || last === undefined) return null;
  if (first === "") return last === "" ? null : { kind: "suffix", length: Number(last) };
  const open = { kind: "from", first: Number(first), last: last === "" ? Infinity : Number(last) } as const;
  return open.last < open.first ? null : open;
}

/** The range within `size` bytes; `null` when it has none of them: 416. */
export function rangeWithin(request: RangeRequest, size: number): ByteRange | null {
  if (request.kind === "suffix") {
    const start = Math.max(0, size - request.length);
    return start < size ? { start, end: size } : null;
  }
  const { first, last } = request;
  return first < size ? { start: first, end: Math.min(size, last + 1) } : null;
}
