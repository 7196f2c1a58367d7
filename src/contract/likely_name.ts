/** Suggests the name that a misspelled one probably means. This module is browser compatible. */

/** The Levenshtein distance. */
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

function bare(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, "");
}

/** Longer than every known name; bounds the work. */
const lengthMax = 100;

/**
 * The likeliest of `names` for `text` (`firstName`: `first_name`), or `null`; at most a third of the letters may
 * differ.
 */
export function likelyName(text: string, names: readonly string[]): string | null {
  if (text.length > lengthMax) return null;
  const meant = bare(text);
  let likely: string | null = null;
  let editsMin = Math.floor(meant.length / 3) + 1;
  for (const name of names) {
    const other = bare(name);
    if (Math.abs(other.length - meant.length) >= editsMin) continue;
    const edits = editsBetween(meant, other);
    if (edits >= editsMin) continue;
    likely = name;
    editsMin = edits;
  }
  return likely;
}
