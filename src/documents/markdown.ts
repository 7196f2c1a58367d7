/** The parts that the briefs are made of, as Markdown. This module is browser compatible. */

import type { ErrorRule } from "../contract/errors.ts";

/** The cells of one row. */
export type Cells = readonly string[];

/** A table. */
export function table(head: Cells, rows: readonly Cells[]): string {
  const line = (cells: Cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A list; `mark` stands before each item. */
export function bullets(items: readonly string[], mark = "-"): string {
  return items.map((item) => `${mark} ${item}`).join("\n");
}

/** A numbered list. */
export function numbered(items: readonly string[]): string {
  return items.map((item, index) => `${index + 1}. ${item}`).join("\n");
}

/** A block of code. */
export function code(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Parts of which one is open at a time, without a script; a title may have code as HTML. */
export function tabs(
  name: string,
  parts: readonly { readonly title: string; readonly text: string }[],
): string {
  return parts.map(({ title, text }) =>
    `<details name="${name}"><summary>${title}</summary>\n\n${text}\n\n</details>`
  ).join("\n\n");
}

/** A value as JSON, to be looked at. */
export function jsonCode(value: unknown): string {
  return code("json", JSON.stringify(value, null, 2));
}

/** A phrase as a sentence. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Names as code, one after the other. */
export function named(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** A list of members: name and meaning. */
export function memberList(members: readonly { readonly name: string; readonly about: string }[]): string {
  return bullets(members.map(({ name, about }) => `\`${name}\`: ${about}`));
}

/** A table of error codes. */
export function errorTable(rules: Readonly<Record<string, ErrorRule>>): string {
  const rows = Object.entries(rules).map((
    [name, { status, condition, callerAction, retry }],
  ) => [String(status), `\`${name}\``, sentence(condition), sentence(callerAction), retry]);
  return table(["Status", "`error`", "When", "Do", "Retry"], rows);
}
