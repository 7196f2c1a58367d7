/**
 * What a database holds, as Markdown that stands for itself.
 *
 * @module
 */

/**
 * Text that stands for itself in Markdown. What a database holds goes through here or {@linkcode codeSpan}: a plan may
 * be called `[Gold](javascript:…)`. Fit for the inside of a line and for a cell of a table.
 */
export function literal(text: string): string {
  return line(text).replace(/[\\`*{}[\]<>#|~&!]|(?<=\])\(|(?<![a-z0-9])_|_(?![a-z0-9])/gi, "\\$&").replace(
    /^(\d*)([-+=.)])/,
    "$1\\$2",
  );
}

/** Text as code within a line; it may have backticks. With a bar in it, it is no code. */
export function codeSpan(text: string): string {
  const shown = line(text);
  // In a cell nothing stands for a bar in code after a backslash; elsewhere the two look alike.
  if (shown.includes("|")) return literal(text);
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 || /^ .* $/.test(shown) ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** A block of code. */
export function codeBlock(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

/** A table; the cells are Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

/** A cell of Markdown of our own that may have bars in it. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** One line, without the control characters that would end it or hide in it. */
function line(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}
