/** What all pages of the console have in common: the frame, the headers, tables, and the pages of refusals. */

import { hash } from "node:crypto";
import type { Handler, Reply } from "../../http/exchange.ts";
import { type Markup, markup, type Value } from "../../http/markup.ts";
import { style } from "./style.ts";
import { moment, type PageClock } from "./text.ts";

/** A page that stands in the navigation. */
interface Section {
  readonly path: string;
  readonly name: string;
}

/** A page without its frame. */
export interface ConsolePage {
  /** Default: 200. */
  readonly status?: number;
  /** Never a caller's text: it is the window's title. */
  readonly title: string;
  readonly body: Markup;
  /** The page asks for itself again after this many seconds, because its reader has asked for that. */
  readonly refreshSeconds?: number | null;
}

/** What the frame shows besides. */
export interface Frame {
  readonly navigation: readonly Section[];
  /** The path in the navigation under which the page is; `null` for a refusal that belongs nowhere. */
  readonly section: string | null;
  readonly clock: PageClock;
  /** How many of a section want somebody, by its path; none of a section without any, or when the store is away. */
  readonly wanting: ReadonlyMap<string, string>;
  /** What an action has just done. */
  readonly message: Markup | null;
}

const styleVersion = hash("sha256", style, "hex").slice(0, 12);

/**
 * The headers of every answer. `same-origin`, since under `no-referrer` a browser posts a form with
 * `Origin: null`, which is refused.
 */
export const pageHeaders: Readonly<Record<string, string>> = Object.freeze({
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Frame-Options": "DENY",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
});

/** Puts a page into its frame. */
export function render(page: ConsolePage, { navigation, section, clock, wanting, message }: Frame): Reply {
  const { status = 200, title, body, refreshSeconds = null } = page;
  const here = navigation.find(({ path }) => path === section);
  const text = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Lead intake console</title>
<link rel="stylesheet" href="/console/style.css?v=${styleVersion}">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p>Lead intake</p>
<nav aria-label="Console"><details><summary>Menu${here !== undefined && markup`: ${here.name}`}${
    wantingBadge(wanting, "/dead")
  }</summary><ul>${
    navigation.map(({ path, name }) =>
      markup`<li><a href="${path}"${path === section && markup` aria-current="page"`}>${name}${
        wantingBadge(wanting, path)
      }</a></li>`
    )
  }</ul></details></nav>
</header>
<main id="main" tabindex="-1">
${message}${body}
</main>
<footer>${madeAt(clock)}</footer>
</body>
</html>
`.text;
  const refresh = refreshSeconds === null ? {} : { Refresh: String(refreshSeconds) };
  return { status, headers: { ...pageHeaders, ...refresh }, body: text };
}

function wantingBadge(wanting: Frame["wanting"], path: string): Value {
  const number = wanting.get(path);
  return number !== undefined && markup` <span class="badge${path !== "/held" && " bad"}">${number}</span>`;
}

function madeAt({ nowMs, zone }: PageClock): Markup {
  const offset = zone.name === "UTC" ? "" : ` (now UTC${zone.at(nowMs).offset})`;
  return markup`All times are ${zone.name}${offset}. This page was made at <time datetime="${
    new Date(nowMs).toISOString()
  }">${moment(nowMs, zone)}</time>.`;
}

/** Serves the style sheet; its address has its version, so that it is kept. */
export const styleHandler: Handler = () => ({
  status: 200,
  headers: {
    "Content-Type": "text/css; charset=utf-8",
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
  },
  body: style,
});

/** What a request is refused with; the router makes a page of it. */
export class RefusedPage extends Error {
  override readonly name = "RefusedPage";
  readonly status: number;
  readonly advice: Markup;

  /** `title` says what is wrong in a few words, `advice` what to do. */
  constructor(status: number, title: string, advice: Markup) {
    super(title);
    this.status = status;
    this.advice = advice;
  }
}

/** A row: its cells, and the class that makes it stand out. */
export interface TableRow {
  readonly cells: readonly Value[];
  readonly className?: "stale" | "off" | "differs" | undefined;
}

/**
 * A table; `empty` stands there instead when it has no rows. A column whose name begins with `>` has figures, which stand
 * at the right, and one with `!` buttons and choices, which say themselves what they do. On a phone each row is a block of labels and values: the
 * style sheet takes the labels from the cells, and the roles keep it a table for a screen reader, which would not know
 * it any more without them. With `isCompact` a row on a phone is a box to choose it, its main cell, and the rest in lines
 * of text below.
 */
export function table(
  columns: readonly string[],
  rows: readonly TableRow[],
  options: {
    readonly label: string;
    readonly empty: Markup;
    readonly caption?: Value | undefined;
    readonly isCompact?: boolean;
  },
): Markup {
  if (rows.length === 0) return markup`<p class="quiet">${options.empty}</p>`;
  const heads = columns.map((column) => ({
    name: column.replace(/^[>!]/, ""),
    classes: column.startsWith(">")
      ? markup` class="number"`
      : column.startsWith("!") && markup` class="act"`,
  }));
  return markup`<div class="scroll${
    options.isCompact === true && " compact"
  }" role="region" aria-label="${options.label}" tabindex="0"><table role="table">
${options.caption === undefined ? null : markup`<caption>${options.caption}</caption>`}
<thead role="rowgroup"><tr role="row">${
    heads.map((head) => markup`<th role="columnheader" scope="col"${head.classes}>${head.name}</th>`)
  }</tr></thead>
<tbody role="rowgroup">${
    rows.map(({ cells, className }) =>
      markup`<tr role="row"${className !== undefined && markup` class="${className}"`}>${
        cells.map((cell, index) =>
          markup`<td role="cell"${heads[index]?.classes ?? null} data-label="${
            heads[index]?.name ?? ""
          }">${cell}</td>`
        )
      }</tr>
`
    )
  }</tbody></table></div>`;
}

/** What a row is chosen with. `label` says to whoever does not see the row which one it is. */
export function choice(
  name: string,
  value: string,
  { label, isChosen = false }: { readonly label: string; readonly isChosen?: boolean },
): Markup {
  return markup`<label class="pick"><input type="checkbox" name="${name}" value="${value}"${
    isChosen && markup` checked`
  } aria-label="${label}"></label>`;
}

/** A `<select>` of a filter form, with its label. */
export function select(
  name: string,
  options: readonly (readonly [value: string, text: string])[],
  { label, chosen }: { readonly label: string; readonly chosen: string | null },
): Markup {
  return markup`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${
    options.map(([value, text]) =>
      markup`<option value="${value}"${value === (chosen ?? "") && markup` selected`}>${text}</option>`
    )
  }</select></div>`;
}
