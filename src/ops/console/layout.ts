/** The layout of the console's pages: frame, headers, tables and form controls. */

import { hash } from "node:crypto";
import type { Handler, Reply } from "../../http/exchange.ts";
import { type Markup, markup, type Value } from "../../http/markup.ts";
import { style } from "./style.ts";
import { localTime, type PageClock } from "./text.ts";

/** A page in the navigation. */
interface Section {
  readonly path: string;
  readonly name: string;
}

/** A page without its frame. */
export interface ConsolePage {
  /** The HTTP status; default: 200. */
  readonly status?: number;
  /** The window's title; must not contain text from callers. */
  readonly title: string;
  readonly body: Markup;
  /** The text in the header's search box, which may be from callers; `null` for none. */
  readonly searched?: string | null;
  /** The number of seconds after which the page reloads; `null` for never. */
  readonly refreshSeconds?: number | null;
}

/** The contents of the frame around a page. */
export interface Frame {
  readonly navigation: readonly Section[];
  /** The path of the page's section in the navigation; `null` for an error page. */
  readonly section: string | null;
  readonly clock: PageClock;
  /** The number of items that need attention, by section path; sections without such items are omitted. */
  readonly attention: ReadonlyMap<string, string>;
  /** The result of the action that led to this page. */
  readonly message: Markup | null;
}

const stylesheetVersion = hash("sha256", style, "hex").slice(0, 12);

/**
 * The headers of every page. `Referrer-Policy` is `same-origin`, because under `no-referrer` browsers post forms with
 * `Origin: null`, which is rejected.
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

/** The path of the search by identifier, whose parameter is `q`. */
export const findPath = "/find";
const findLabel = "Find an id, phone, email or name";

/** Renders a page in its frame. */
export function render(page: ConsolePage, { navigation, section, clock, attention, message }: Frame): Reply {
  const { status = 200, title, body, searched = null, refreshSeconds = null } = page;
  const currentSection = navigation.find(({ path }) => path === section);
  const text = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Lead intake console</title>
<link rel="stylesheet" href="/console/style.css?v=${stylesheetVersion}">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<p>Lead intake</p>
<form class="find" role="search" aria-label="Find" method="get" action="${findPath}"><input type="search" name="q" aria-label="${findLabel}" placeholder="Find a lead"${
    searched !== null && markup` value="${searched}"`
  } autocomplete="off" spellcheck="false" autocapitalize="off" enterkeyhint="search"></form>
<nav aria-label="Console"><details><summary>Menu${
    currentSection !== undefined && markup`: ${currentSection.name}`
  }${attentionBadge(attention, "/dead")}</summary><ul>${
    navigation.map(({ path, name }) =>
      markup`<li><a href="${path}"${path === section && markup` aria-current="page"`}>${name}${
        attentionBadge(attention, path)
      }</a></li>`
    )
  }</ul></details></nav>
</header>
<main id="main" tabindex="-1">
${message}${body}
</main>
<footer>${pageFooter(clock)}</footer>
</body>
</html>
`.text;
  const refresh = refreshSeconds === null ? {} : { Refresh: String(refreshSeconds) };
  return { status, headers: { ...pageHeaders, ...refresh }, body: text };
}

function attentionBadge(attention: Frame["attention"], path: string): Value {
  const countText = attention.get(path);
  return countText !== undefined &&
    markup` <span class="badge${path !== "/held" && " bad"}">${countText}</span>`;
}

function pageFooter({ nowMs, zone }: PageClock): Markup {
  const offset = zone.name === "UTC" ? "" : ` (now UTC${zone.at(nowMs).offset})`;
  return markup`All times are ${zone.name}${offset}. Page generated at <time datetime="${
    new Date(nowMs).toISOString()
  }">${localTime(nowMs, zone)}</time>.`;
}

/** Serves the style sheet; its URL contains its version, so that it can be cached. */
export const stylesheetHandler: Handler = () => ({
  status: 200,
  headers: {
    "Content-Type": "text/css; charset=utf-8",
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
  },
  body: style,
});

/** An error that is shown as a page. */
export class RefusedPage extends Error {
  override readonly name = "RefusedPage";
  readonly status: number;
  readonly advice: Markup;
  readonly searched: string | null;

  /** `title` names the error in a few words; `advice` says what to do; `searched` is as in {@linkcode ConsolePage}. */
  constructor(status: number, title: string, advice: Markup, searched: string | null = null) {
    super(title);
    this.status = status;
    this.advice = advice;
    this.searched = searched;
  }
}

/** A row's cells and its CSS class. */
export interface TableRow {
  readonly cells: readonly Value[];
  readonly className?: "stale" | "off" | "differs" | undefined;
}

/**
 * Renders a table, or `empty` if there are no rows. `>` before a column's name aligns it right; `!` marks a column of buttons.
 *
 * On a phone, CSS shows each row as a block of labels (`data-label`) and values; the ARIA roles keep it a table for screen
 * readers. With the look `compact`, the block is a checkbox, the main cell, and the other cells as lines of text; with
 * `cards`, which has no column of buttons, lines of text that link to the page of the row's `eventLink`.
 */
export function table(
  columns: readonly string[],
  rows: readonly TableRow[],
  options: {
    readonly label: string;
    readonly empty: Markup;
    readonly caption?: Value | undefined;
    readonly look?: "compact" | "cards";
  },
): Markup {
  if (rows.length === 0) return markup`<div class="quiet">${options.empty}</div>`;
  const headings = columns.map((column) => ({
    name: column.replace(/^[>!]/, ""),
    classes: column.startsWith(">")
      ? markup` class="number"`
      : column.startsWith("!") && markup` class="act"`,
  }));
  return markup`<div class="scroll${
    options.look !== undefined && ` ${options.look}`
  }" role="region" aria-label="${options.label}" tabindex="0"><table role="table">
${options.caption === undefined ? null : markup`<caption>${options.caption}</caption>`}
<thead role="rowgroup"><tr role="row">${
    headings.map((head) => markup`<th role="columnheader" scope="col"${head.classes}>${head.name}</th>`)
  }</tr></thead>
<tbody role="rowgroup">${
    rows.map(({ cells, className }) =>
      markup`<tr role="row"${className !== undefined && markup` class="${className}"`}>${
        cells.map((cell, index) =>
          markup`<td role="cell"${headings[index]?.classes ?? null} data-label="${
            headings[index]?.name ?? ""
          }">${cell}</td>`
        )
      }</tr>
`
    )
  }</tbody></table></div>`;
}

/** Renders a figure with its name, inside `<dl class="tiles">`. */
export function tile(
  name: string,
  value: string,
  { tone = null, small = null }: { tone?: "bad" | "warn" | null; small?: Value } = {},
): Markup {
  return markup`<div${tone !== null && markup` class="${tone}"`}><dt>${name}</dt><dd>${value}${
    small !== null && markup`<small>${small}</small>`
  }</dd></div>`;
}

/** Renders the checkbox that selects a row; `label` names the row for screen readers. */
export function rowCheckbox(
  name: string,
  value: string,
  { label, isSelected = false }: { readonly label: string; readonly isSelected?: boolean },
): Markup {
  return markup`<label class="pick"><input type="checkbox" name="${name}" value="${value}"${
    isSelected && markup` checked`
  } aria-label="${label}"></label>`;
}

/** Renders a text field or, with `isDate`, a date field, which shows any other value as text, with its label. */
export function textField(
  name: string,
  { label, value = null, isDate = false, lengthMax = null }: {
    readonly label: string;
    readonly value?: string | null;
    readonly isDate?: boolean;
    readonly lengthMax?: number | null;
  },
): Markup {
  const isDateShown = isDate && /^(\d{4}-\d\d-\d\d)?$/.test(value ?? "");
  return markup`<div><label for="${name}">${label}</label><input id="${name}" name="${name}"${
    value !== null && markup` value="${value}"`
  }${lengthMax !== null && markup` maxlength="${lengthMax}"`} type="${
    isDateShown ? "date" : "text"
  }" autocomplete="off" spellcheck="false"></div>`;
}

/** Renders a form that filters a page, with its button. */
export function filterForm(path: string, controls: Value): Markup {
  return markup`<form class="filters" method="get" action="${path}">
${controls}<div><button>Show</button></div></form>`;
}

/** Renders a `<select>` for a filter form, with its label. */
export function select(
  name: string,
  options: readonly (readonly [value: string, text: string])[],
  { label, selected }: { readonly label: string; readonly selected: string | null },
): Markup {
  return markup`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${
    options.map(([value, text]) =>
      markup`<option value="${value}"${value === (selected ?? "") && markup` selected`}>${text}</option>`
    )
  }</select></div>`;
}
