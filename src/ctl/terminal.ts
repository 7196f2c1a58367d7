/**
 * Renders the output: aligned tables and paragraphs in which stored text cannot control the terminal, and JSON that can
 * embed stored JSON text verbatim.
 */

import type { BoundedCount } from "#src/store/operator/admin_pool.ts";

/** JSON text to embed verbatim, so that numbers keep every digit that was sent. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Renders one JSON document, indented. Characters that could control the terminal become equivalent `\u` escapes; in JSON
 * they occur only inside strings.
 */
export function renderJson(value: unknown): string {
  return write(value, "").replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function write(value: unknown, indent: string): string {
  if (value instanceof JsonText) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  const isArray = Array.isArray(value);
  const members = isArray
    ? value.map((item) => write(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${write(member, inner)}`);
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return `${open}${close}`;
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`;
}

const namedEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes every character that could move the cursor, or recolor, reorder or hide text. */
export function safe(text: string): string {
  // Joiners (U+200C, U+200D) remain, because some scripts and emoji need them.
  return text.toWellFormed().replace(
    /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => {
      const code = character.codePointAt(0) as number;
      const hex = code.toString(16);
      if (code < 0x100) return namedEscapes[character] ?? `\\x${hex.padStart(2, "0")}`;
      return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
    },
  );
}

/** Returns a text's approximate width in terminal columns. */
function width(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) continue;
    columns +=
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u
          .test(character)
        ? 2
        : 1;
  }
  return columns;
}

function padded(text: string, columns: number, align: "left" | "right" = "left"): string {
  const padding = " ".repeat(Math.max(0, columns - width(text)));
  return align === "left" ? text + padding : padding + text;
}

/** The columns of a table by heading, each with a function that renders a cell; a `>` before the heading right-aligns the column. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/** Renders an aligned table and escapes its cells; returns `empty` if there are no rows. */
export function table<Row>(rows: readonly Row[], empty: string, columns: Columns<Row>): string {
  if (rows.length === 0) return empty;
  const rendered = Object.entries(columns).map(([heading, cell]) => {
    const align = heading.startsWith(">") ? "right" : "left";
    const texts = [heading.replace(/^>/, ""), ...rows.map((row) => safe(cell(row)))];
    const columns = Math.max(...texts.map(width));
    return texts.map((text) => padded(text, columns, align));
  });
  return [...rows, null].map((_, line) => rendered.map((column) => column[line]).join("  ").trimEnd()).join(
    "\n",
  );
}

const nameColumnsMax = 40;

/**
 * Renders names and values, one pair per line, with multiline values indented. Both are escaped, because the sender of a
 * form chooses its field names. A name of more than 40 columns shifts only its own value.
 */
export function record(pairs: readonly (readonly [string, string])[], indent = ""): string {
  const named = pairs.map(([name, value]) => [safe(name), value] as const);
  const columns = Math.min(nameColumnsMax, Math.max(...named.map(([name]) => width(name))));
  return named.map(([name, value]) => {
    const lines = value.split("\n").map(safe);
    return `${indent}${padded(name, columns)}  ${lines.join(`\n${indent}${" ".repeat(columns)}  `)}`
      .trimEnd();
  }).join("\n");
}

/** Indents and escapes each line in a stored text. */
export function block(text: string): string {
  return text.split(/\r?\n/).map((line) => `  ${safe(line)}`.trimEnd()).join("\n");
}

/** Formats US cents as dollars. */
export function dollars(cents: number): string {
  return `$${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** Formats a time to the second, for tables. */
export function shortTime(iso: string | null): string {
  return iso === null ? "-" : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** Formats a count with its noun: `1 event`, `2 events`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Formats a bounded count with its noun: `10000 events or more`. */
export function boundedText({ count, isMore }: BoundedCount, noun: string): string {
  return `${counted(count, noun)}${isMore ? " or more" : ""}`;
}

/** The maximum length of a list in text output, in lines or rows; `--json` lists all. */
export const linesMax = 20;

/** Returns the first lines, indented, and if there are more, a last line with their number. */
export function firstOf(lines: readonly string[]): string[] {
  const shown = lines.slice(0, linesMax).map((line) => `  ${line}`);
  if (lines.length > linesMax) shown.push(`  and ${lines.length - linesMax} more; --json lists all`);
  return shown;
}

const alternatives = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** Formats a list as `a, b or c`. */
export function orList(texts: readonly string[]): string {
  return alternatives.format(texts);
}
