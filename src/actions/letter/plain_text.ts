/**
 * A letter as plain text.
 *
 * @module
 */

import { unlinked } from "./inert.ts";
import type { Letter } from "./letter.ts";
import type { Row } from "./rows.ts";

/** How it is written. */
export interface PlainOptions {
  /**
   * Whether programs will make links of addresses: then those of a stranger's text are broken, and ours are shown.
   * Left out: the text stays as it is, and has no addresses of ours.
   */
  readonly isLinked?: boolean;
}

/** All of it as lines of text. No line of a value can pose as another field: it is indented. */
export function plainText(letter: Letter, { isLinked = false }: PlainOptions = {}): string {
  const text = isLinked ? unlinked : (words: string) => words;
  const lines = (rows: readonly Row[]) => rows.map((row) => rowLines(row, { text, isLinked })).join("\n");
  const part = (heading: string, body: string) => body === "" ? [] : [`${text(heading)}:\n\n${body}`];
  const { banner, title, subtitle, figures, quote, notes, sections, about } = letter;
  const paragraphs = [
    ...(banner === null ? [] : [`*** ${text(banner)} ***`]),
    text([`${letter.opening}: ${title}`, subtitle].filter((line) => line !== "").join("\n")),
    letter.buttons.map(({ label, detail }) => `${label}: ${detail}`).join("\n"),
    ...figures.map(({ label, value, detail }) =>
      text(`${label}: ${value}${detail === "" ? "" : ` (${detail})`}`)
    ),
    ...(quote === null ? [] : part(quote.heading, indented(text(quote.text)))),
    ...part("Please note", notes.map((note) => `- ${text(note)}`).join("\n")),
    ...sections.flatMap(({ heading, rows }) => part(heading, lines(rows))),
    lines(about),
  ];
  return `${paragraphs.filter((paragraph) => paragraph !== "").join("\n\n")}\n`;
}

function rowLines(
  { label, value, link }: Row,
  { text, isLinked }: { readonly text: (words: string) => string; readonly isLinked: boolean },
): string {
  // A value that is a link of ours is an address that was checked.
  const shown = link !== undefined && link.text === undefined ? value : text(value);
  const name = text(label);
  const line = shown.includes("\n") ? `${name}:\n${indented(shown)}` : `${name}: ${shown}`;
  return isLinked && link?.text !== undefined ? `${line}\n${link.text}: ${link.href}` : line;
}

function indented(text: string): string {
  return `    ${text.replaceAll("\n", "\n    ")}`;
}
