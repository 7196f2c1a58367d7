/**
 * Makes the output: aligned tables and paragraphs whose stored text cannot drive the terminal, and
 * JSON with parts that are spliced in as they are stored.
 */

/** The text of a JSON value that goes into the output as it is, with every digit as it was sent. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * One JSON document, indented. Characters that could drive a terminal are written as `\u` escapes, which
 * mean the same: in JSON text they can only stand inside strings.
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

/** Text in which nothing can move the cursor, recolour, reorder or hide: such characters show as escapes. */
export function safe(text: string): string {
  // Joiners (U+200C, U+200D) stay: scripts and emoji need them.
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

/** Columns of a terminal that the text fills, near enough for alignment. */
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

function padded(text: string, columns: number, end: "left" | "right" = "left"): string {
  const padding = " ".repeat(Math.max(0, columns - width(text)));
  return end === "left" ? text + padding : padding + text;
}

/** The columns of a table: headings, each with what stands below it; one with `>` sets its column to the right. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/** An aligned table, whose cells are escaped here; `empty` is shown when there are no rows. */
export function table<Row>(rows: readonly Row[], empty: string, columns: Columns<Row>): string {
  if (rows.length === 0) return empty;
  const set = Object.entries(columns).map(([heading, cell]) => {
    const end = heading.startsWith(">") ? "right" : "left";
    const texts = [heading.replace(/^>/, ""), ...rows.map((row) => safe(cell(row)))];
    const columns = Math.max(...texts.map(width));
    return texts.map((text) => padded(text, columns, end));
  });
  return [...rows, null].map((_, line) => set.map((column) => column[line]).join("  ").trimEnd()).join("\n");
}

const nameColumnsMax = 40;

/**
 * Names and values under one another; a value of several lines is indented as a block. Both are escaped here: the
 * names of a form's fields come from whoever posts. A name of more than 40 columns pushes its own line alone.
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

/** A block of stored text, each line indented and escaped. */
export function block(text: string): string {
  return text.split(/\r?\n/).map((line) => `  ${safe(line)}`.trimEnd()).join("\n");
}

/** US cents as dollars. */
export function dollars(cents: number): string {
  return `$${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** A time to the second, for tables. */
export function shortTime(iso: string | null): string {
  return iso === null ? "-" : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** A number and its noun: `1 event`, `2 events`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

// Lines that a person is shown; --json has all.
const linesShown = 20;

/** The first of many lines, and how many more there are. */
export function firstOf(lines: readonly string[]): string[] {
  const shown = lines.slice(0, linesShown).map((line) => `  ${line}`);
  if (lines.length > linesShown) shown.push(`  and ${lines.length - linesShown} more; --json names all`);
  return shown;
}
