/** Suggests the correct spelling of a misspelled name. This module is browser compatible. */

/**
 * Returns the number of edits between two texts (swapping neighbors is one edit), or any number above `editsMax` if the
 * texts differ more.
 */
export function editDistance(left: string, right: string, editsMax: number): number {
  if (Math.abs(left.length - right.length) > editsMax) return Infinity;
  let twoAbove: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    // Only the cells near the diagonal can be within the maximum.
    const current = new Array<number>(right.length + 1).fill(Infinity);
    current[0] = row;
    for (
      let column = Math.max(1, row - editsMax);
      column <= Math.min(right.length, row + editsMax);
      column++
    ) {
      const cell = (cells: readonly number[], back: number) => cells[column - back] as number;
      const isSame = left[row - 1] === right[column - 1];
      const isSwapped = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        cell(above, 1) + (isSame ? 0 : 1),
        cell(above, 0) + 1,
        cell(current, 1) + 1,
        isSwapped ? cell(twoAbove, 2) + 1 : Infinity,
      );
    }
    [twoAbove, above] = [above, current];
  }
  return above[right.length] as number;
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, "");
}

/** The maximum length of a text that is compared; all known names are shorter. */
const lengthMax = 100;

/**
 * Returns the name that `text` probably means (`first_name` for `firstName`), or `null`. At most a third of the letters
 * may differ.
 */
export function likelyName(text: string, names: readonly string[]): string | null {
  if (text.length > lengthMax) return null;
  const normalizedText = normalize(text);
  let likely: string | null = null;
  let editsMin = Math.floor(normalizedText.length / 3) + 1;
  for (const name of names) {
    const edits = editDistance(normalizedText, normalize(name), editsMin - 1);
    if (edits >= editsMin) continue;
    likely = name;
    editsMin = edits;
  }
  return likely;
}
