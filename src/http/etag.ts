/**
 * Entity tags and the lists of them in `If-Match` and `If-None-Match`. RFC 9110, section 8.8.3.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** The strong tag of bytes by their SHA-256: 128 bits of it, the same for the same bytes wherever they lie. */
export function strongTag(digest: Uint8Array): string {
  return `"${Buffer.from(digest.buffer, digest.byteOffset, 16).toString("base64url")}"`;
}

const tagShape = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** A list of tags as sent; `"*"` for any. What is no tag is left out. A tag may have a comma in it. */
export function parseTags(header: string): readonly string[] | "*" {
  if (header.trim() === "*") return "*";
  return (header.match(/(?:W\/)?"[^"]*"|[^\s,][^,]*/g) ?? []).map((part) => part.trim())
    .filter((part) => tagShape.test(part));
}

/** Whether a list has the tag by the strong comparison: neither may be weak. */
export function hasTagStrongly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || (!tag.startsWith("W/") && tags.includes(tag));
}

/** Whether a list has the tag by the weak comparison. */
export function hasTagWeakly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || tags.some((other) => opaque(other) === opaque(tag));
}

function opaque(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
