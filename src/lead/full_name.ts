/** Splits full names. This module is browser compatible. */

const suffix = /^(?:jr|sr|ii|iii|iv|md|phd|esq|dds)\.?,?$/i;
const particle =
  /^(?:de|del|della|der|den|di|da|do|dos|das|du|van|von|vom|zu|zum|zur|ter|ten|te|la|le|las|los|el|al|bin|ibn|ben|san|santa|st\.?|af|av|o['’])$/i;
/** Joins two last names, as in `Ramón y Cajal`; a capital letter is an initial. */
const conjunction = /^[ye]$/;

/**
 * Splits a full name. Particles and suffixes stay with the last name (`Ludwig | van Beethoven Jr.`), and a single word is
 * the last name. A comma separates a last name that comes first.
 */
export function splitName(name: string): readonly [first: string, last: string] {
  const [before = "", after = ""] = name.split(/,[\s,]*(.*)/s).map((part) => part.trim());
  const isWhole = before === "" || after === "";
  if (!isWhole && !after.split(/\s+/).every((word) => suffix.test(word))) return [after, before];
  const words = (isWhole ? before || after : name.trim()).split(/\s+/).filter((word) => !/^,+$/.test(word));
  const word = (index: number) => words[index] as string;
  let start = words.length - 1;
  while (start > 0 && suffix.test(word(start))) start -= 1;
  if (start > 2 && conjunction.test(word(start - 1))) start -= 2;
  while (start > 1 && particle.test(word(start - 1))) start -= 1;
  return [words.slice(0, start).join(" "), words.slice(start).join(" ")];
}
