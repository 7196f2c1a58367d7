/**
 * Comma-separated values as RFC 4180 has them, safe to open in a spreadsheet.
 *
 * @module
 */

/** What a cell may hold; `null` is an empty cell. */
export type Cell = string | number | null;

// What a spreadsheet takes for a formula, full-width characters too, which some make the same of.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
// Behind a semicolon or a tab too: where that parts the list, quotes in the middle of a line are no quotes.
const gap = /[;\t][ \t]*/g;
const formulaSign = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const special = /[",\r\n]/;

/**
 * Rows as text, each ended by CRLF.
 *
 * Chosen: a text that a spreadsheet would take for a formula gets an apostrophe before it, because a source's label or a
 * caller's term may be anybody's text; a number is written as it is.
 */
export function csvText(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = (formula.test(cell) ? `'${cell}` : cell).replaceAll(
    gap,
    (found, at: number, whole: string) =>
      formulaSign.test(whole.charAt(at + found.length)) ? `${found}'` : found,
  );
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
