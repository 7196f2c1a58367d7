/**
 * Text of strangers that mail programs make no links of.
 *
 * @module
 */

import { escaped } from "../../http/markup.ts";

/**
 * Text as HTML. A `<wbr>` stands around what mail programs take for the joint of an address and would make a link of; it
 * shows nothing and is not copied. A run of dots or at-signs is one joint: one by one, 64 KiB of dots took 50 ms.
 */
export function inert(text: string): string {
  // Marked before it is escaped, which makes it up to six times as long; no text has this character.
  const marked = text.replaceAll("\0", "").replace(/(?<=\S)(:\/\/|[.。．｡@]+)(?=\S)/g, "\0$1\0");
  return escaped(marked).replaceAll("\0", "<wbr>");
}

/**
 * Text as plain text: a space behind the joints of addresses, where a name follows.
 *
 * Chosen: a space and not a sign without width, because that is what spammers hide words with, and filters know it.
 */
export function unlinked(text: string): string {
  // Each run is looked at from its start alone.
  return text.replace(
    /(?<=[^\s.。．｡])[.。．｡]+(?=\p{L}{2})|(?<=\S):\/\/(?=\S)|(?<=[^\s@])@+(?=\S)/gu,
    "$& ",
  );
}
