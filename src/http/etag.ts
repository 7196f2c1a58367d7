/** Entity tags and the lists of them in `If-Match` and `If-None-Match`. RFC 9110, section 8.8.3. */

import { Buffer } from "node:buffer";

/** The strong tag of a SHA-256: its first 128 bits. */
export function strongTag(digest: Uint8Array): string {
  return `"${Buffer.from(digest.buffer, digest.byteOffset, 16).toString("base64url")}"`;
}

const tagShape = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Parses a list of tags, or `"*"`; skips invalid ones. A tag may contain a comma. */
export function parseTags(header: string): readonly string[] | "*" {
  if (header.trim() === "*") return "*";
  return (header.match(/(?:W\/)?"[^"]*"|[^\s,][^,]*/g) ?? []).map((part) => part.trim())
    .filter((part) => tagShape.test(part));
}

/** Strong comparison: neither tag may be weak. */
export function hasTagStrongly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || (!tag.startsWith("W/") && tags.includes(tag));
}

/** Weak comparison. */
export function hasTagWeakly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || tags.some((other) => opaque(other) === opaque(tag));
}

function opaque(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
