/** Renders tables, lists and code as Markdown. This module is browser compatible. */

import type { ErrorRule } from "../contract/errors.ts";

/** The cells of a row, in Markdown. */
export type Cells = readonly string[];

/** Renders a table. Vertical bars in cells are escaped unless they are already escaped. */
export function table(head: Cells, rows: readonly Cells[]): string {
  const line = (cells: Cells) => `| ${cells.map((cell) => cell.replace(/(?<!\\)\|/g, "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Renders a list with `mark` before each item. */
export function bullets(items: readonly string[], mark = "-"): string {
  return items.map((item) => `${mark} ${item}`).join("\n");
}

export function numbered(items: readonly string[]): string {
  return items.map((item, index) => `${index + 1}. ${item}`).join("\n");
}

/** Renders a block of code, fenced by more backticks than the text contains in a row. */
export function code(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

/** Renders sections of which one is open at a time, without a script; titles are HTML. */
export function tabs(
  name: string,
  parts: readonly { readonly title: string; readonly text: string }[],
): string {
  return parts.map(({ title, text }) =>
    `<details name="${name}"><summary>${title}</summary>\n\n${text}\n\n</details>`
  ).join("\n\n");
}

export function jsonCode(value: unknown): string {
  return code("json", JSON.stringify(value, null, 2));
}

/** Turns a phrase into a sentence: capitalizes the first letter and appends a period. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Lists names as code, with "and" before the last one. */
export function codeList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ").replace(/, (?=[^,]*$)/, " and ");
}

export function memberList(members: readonly { readonly name: string; readonly about: string }[]): string {
  return bullets(members.map(({ name, about }) => `\`${name}\`: ${about}`));
}

export function errorTable(rules: Readonly<Record<string, ErrorRule>>): string {
  const rows = Object.entries(rules).map((
    [name, { status, condition, callerAction, retry }],
  ) => [String(status), `\`${name}\``, sentence(condition), sentence(callerAction), retry]);
  return table(["Status", "`error`", "Condition", "Action", "Retry"], rows);
}
