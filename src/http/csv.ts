/** Renders CSV that spreadsheets open without running formulas. */

/** The value of a CSV cell; `null` for an empty cell. */
export type Cell = string | number | null;

// The characters with which a spreadsheet formula can start, including the full-width ones.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
// In some locales, spreadsheets split cells at semicolons or tabs, and ignore quotes in the middle of a line.
const cellSeparator = /[;\t][ \t]*/g;
const formulaSign = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const needsQuotes = /[",\r\n]/;

/**
 * Renders rows as CSV, with CRLF after each row.
 *
 * Chosen: an apostrophe before text that a spreadsheet would interpret as a formula, because labels and terms are untrusted;
 * numbers are written unchanged.
 */
export function csvText(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = (formula.test(cell) ? `'${cell}` : cell).replaceAll(
    cellSeparator,
    (match, offset: number, source: string) =>
      formulaSign.test(source.charAt(offset + match.length)) ? `${match}'` : match,
  );
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
