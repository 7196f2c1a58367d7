/**
 * Which name somebody meant who has misspelled it. This module is browser compatible.
 *
 * @module
 */

/** How many letters have to be put in, taken out or changed to make one text of the other. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [at, otherLetter] of [...other].entries()) {
      const change = (row[at] as number) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(change, (row[at + 1] as number) + 1, (next[at] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}

/** Case and what stands between words tell no names apart here. */
function bare(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, "");
}

// Longer than any name of ours: bounds the work.
const lengthMax = 100;

/**
 * The one of `names` that `text` is likely to mean: `firstName` means `first_name`, `INTAKE_LISTN` means
 * `INTAKE_LISTEN`. `null` when none is near.
 *
 * Chosen: at most a third of the letters may differ, because more is another word.
 */
export function likelyName(text: string, names: readonly string[]): string | null {
  if (text.length > lengthMax) return null;
  const meant = bare(text);
  let likely: string | null = null;
  let editsMin = Math.floor(meant.length / 3) + 1;
  for (const name of names) {
    const other = bare(name);
    // No fewer edits than the lengths differ.
    if (Math.abs(other.length - meant.length) >= editsMin) continue;
    const edits = editsBetween(meant, other);
    if (edits >= editsMin) continue;
    likely = name;
    editsMin = edits;
  }
  return likely;
}
