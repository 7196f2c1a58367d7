/** Renders a notification as an email: subject, plain text and HTML. This module is browser compatible. */

import { escapeHtml } from "../http/markup.ts";
import type { Button, Figure, Notification, Row, Section } from "./content.ts";

/**
 * Escapes text as HTML. An invisible `<wbr>` around the punctuation in URLs and email addresses keeps mail programs from
 * turning them into links.
 * A run of dots or at signs is marked as a whole: marking each dot in 64 KiB of dots took 50 ms.
 */
function escapeWithoutLinks(text: string): string {
  // Marks the places with NUL before escaping, which makes text up to six times longer.
  const marked = text.replaceAll("\0", "").replace(/(?<=\S)(:\/\/|[.。．｡@]+)(?=\S)/g, "\0$1\0");
  return escapeHtml(marked).replaceAll("\0", "<wbr>");
}

/**
 * Puts a space after the punctuation in URLs and email addresses, so that mail programs do not turn them into links.
 *
 * Rejected: a zero-width character, which spam filters look for.
 */
export function breakLinks(text: string): string {
  // The lookbehinds let a run match only from its start.
  return text.replace(
    /(?<=[^\s.。．｡])[.。．｡]+(?=\p{L}{2})|(?<=\S):\/\/(?=\S)|(?<=[^\s@])@+(?=\S)/gu,
    "$& ",
  );
}

/** Matches an ASCII `http:` or `https:` URL without a user name, because a user name can pose as a host. */
const plainUrl =
  /^["'([<]*https?:\/\/(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,63}(?::\d{1,5})?(?:[/?#][!-~]*|["')\]>.,;:!?]*)$/i;

/** Breaks all links in a sender's text except plain web URLs, which readers may want to copy. */
function breakUnsafeLinks(text: string): string {
  return text.replace(/\S+/g, (word) => plainUrl.test(word) ? word : breakLinks(word));
}

/** The style sheet, with the rules that cannot be inline. Outlook on the web inverts colors itself. */
const notificationStyle = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
body{margin:0;padding:0;-webkit-text-size-adjust:100%;text-size-adjust:100%}
a{text-decoration:none}
@media (max-width:599px){
.pad{padding-left:20px!important;padding-right:20px!important}
.edge{padding:0!important}
.card{border-radius:0!important;border-left:0!important;border-right:0!important}
.half{display:block!important;max-width:none!important;margin-right:0!important}
.l,.v{display:block!important;width:auto!important}
.l{padding-bottom:0!important;border-bottom:0!important}
.v{padding-top:2px!important}
}
@media (prefers-color-scheme:dark){
.bg{background-color:#0f1317!important}
.card{background-color:#1a2027!important;border-color:#2c343d!important}
.ink,.v{color:#e9edf2!important}
.dim,.l{color:#a7b1bd!important}
.l,.v{border-color:#2c343d!important}
.quote{background-color:#222a33!important;border-color:#4a90d9!important}
.note{background-color:#3a2f12!important;border-color:#c79a2b!important}
.warn{background-color:#7a1f1f!important}
.link{color:#8ab8ff!important}
}`.trim();

/** Renders the plain text. Multi-line values are indented, so that no line in them can pose as another field. */
function plainText(notification: Notification): string {
  const lines = (rows: readonly Row[]) => rows.map(rowLines).join("\n");
  const part = (heading: string, body: string) => body === "" ? [] : [`${breakLinks(heading)}:\n\n${body}`];
  const { banner, title, subtitle, figures, quote, notes, sections, about } = notification;
  const paragraphs = [
    ...(banner === null ? [] : [`*** ${breakLinks(banner)} ***`]),
    breakLinks([`${notification.opening}: ${title}`, subtitle].filter((line) => line !== "").join("\n")),
    notification.buttons.map(({ label, detail }) => `${label}: ${detail}`).join("\n"),
    ...figures.map(({ label, value, detail }) =>
      breakLinks(`${label}: ${value}${detail === "" ? "" : ` (${detail})`}`)
    ),
    ...(quote === null ? [] : part(quote.heading, indent(breakUnsafeLinks(quote.text)))),
    ...part("Please note", notes.map((note) => `- ${breakLinks(note)}`).join("\n")),
    ...sections.flatMap(({ heading, rows }) => part(heading, lines(rows))),
    lines(about),
  ];
  return `${paragraphs.filter((paragraph) => paragraph !== "").join("\n\n")}\n`;
}

function rowLines({ label, value, link }: Row): string {
  // Without a link text, the value is itself the link, and is validated.
  const safeValue = link === undefined
    ? breakUnsafeLinks(value)
    : link.text === undefined
    ? value
    : breakLinks(value);
  const safeLabel = breakLinks(label);
  const line = safeValue.includes("\n")
    ? `${safeLabel}:\n${indent(safeValue)}`
    : `${safeLabel}: ${safeValue}`;
  return link?.text === undefined ? line : `${line}\n${link.text}: ${link.href}`;
}

function indent(text: string): string {
  return `    ${text.replaceAll("\n", "\n    ")}`;
}

interface NotificationHtml {
  readonly html: string;
  /** Whether a text was shortened; the plain text is complete. */
  readonly isCut: boolean;
}

// Gmail clips an email at 102 KB; the surrounding markup takes 8 KB, and quoted-printable may add 5%.
const textBytesMax = 80_000;
const singleTextBytesMax = 40_000;
/** The size of a table row without its texts. */
const rowBytes = 400;
const cutNote = "… (shortened; the attached file has the full text)";

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
/** Preserves indentation in most mail programs. */
const preserveWhitespace = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:break-word";
const table = `role="presentation" border="0" cellpadding="0" cellspacing="0"`;

/** Renders the HTML within the byte budget. */
function notificationHtml(notification: Notification): NotificationHtml {
  const budget = new ByteBudget();
  const body = renderBody(notification, budget);
  const html = [
    `<!doctype html>`,
    `<html lang="en" dir="ltr"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width,initial-scale=1">`,
    // Prevents Apple Mail from linking text.
    `<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">`,
    `<meta name="x-apple-disable-message-reformatting">`,
    `<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">`,
    `<title>${escapeWithoutLinks(notification.subject)}</title>`,
    `<style>\n${notificationStyle}\n</style></head>`,
    `<body class="bg" style="margin:0;padding:0;background-color:#eef1f5">`,
    hiddenPreheader(notification.preheader),
    `<table ${table} width="100%" class="bg" bgcolor="#eef1f5" style="background-color:#eef1f5"><tr>`,
    `<td align="center" class="edge" style="padding:24px 12px">`,
    `<!--[if mso]><table ${table} width="600"><tr><td><![endif]-->`,
    `<table ${table} width="100%" class="card" bgcolor="#ffffff" style="max-width:600px;background-color:#ffffff;` +
    `border:1px solid #dfe4ea;border-radius:14px">`,
    body,
    `</table>`,
    `<!--[if mso]></td></tr></table><![endif]-->`,
    `</td></tr></table></body></html>\n`,
  ];
  return { html: html.filter((part) => part !== "").join("\n"), isCut: budget.isCut };
}

const encoder = new TextEncoder();
const byteLength = (text: string) => encoder.encode(text).length;

class ByteBudget {
  #remainingBytes = textBytesMax;
  isCut = false;

  /** Renders text as HTML, shortened to the budget. */
  fit(text: string): string {
    const bytesMax = Math.max(0, Math.min(singleTextBytesMax, this.#remainingBytes));
    let excerpt = text.slice(0, bytesMax);
    let html = escapeWithoutLinks(excerpt);
    for (let bytes = byteLength(html); bytes > bytesMax; bytes = byteLength(html)) {
      excerpt = excerpt.slice(0, Math.floor(excerpt.length * Math.min(0.9, bytesMax / bytes)));
      html = escapeWithoutLinks(excerpt.toWellFormed());
    }
    this.#remainingBytes -= byteLength(html);
    if (excerpt.length === text.length) return withBreaks(html);
    this.isCut = true;
    return withBreaks(html + cutNote);
  }

  /** Reserves space for a table row; returns whether the row fits. */
  reserveRow(): boolean {
    this.#remainingBytes -= rowBytes;
    if (this.#remainingBytes > 0) return true;
    this.isCut = true;
    return false;
  }
}

function withBreaks(html: string): string {
  return html.replaceAll("\n", "<br>");
}

/** Renders the hidden preview text, padded so that no other text follows it in the message list. */
function hiddenPreheader(text: string): string {
  if (text === "") return "";
  return `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px;` +
    `mso-hide:all">${escapeWithoutLinks(text)}${"&#847;&zwnj;&nbsp;".repeat(40)}</div>`;
}

function renderBody(notification: Notification, budget: ByteBudget): string {
  const { banner, opening, title, subtitle, buttons, figures, quote, notes, sections } = notification;
  // Rendered first, so that the other texts cannot use up its budget.
  const about = tableRow(renderAbout(notification.about, budget), "22px 24px 26px");
  return [
    banner === null ? "" : tableRow(
      `<div class="warn" style="padding:12px 16px;border-radius:10px;background-color:#9b1c1c;color:#ffffff;` +
        `font-size:16px;line-height:23px;font-weight:700">${budget.fit(banner)}</div>`,
      "24px 24px 0",
    ),
    tableRow(
      [
        `<div class="dim" style="color:#5a6675;font-size:14px;line-height:20px">${budget.fit(opening)}</div>`,
        `<h1 class="ink" style="margin:6px 0 2px;color:#16202b;font-size:28px;line-height:34px;font-weight:700">` +
        `${budget.fit(title)}</h1>`,
        subtitle === ""
          ? ""
          : `<div class="ink" style="color:#16202b;font-size:18px;line-height:26px">${
            budget.fit(subtitle)
          }</div>`,
      ].join("\n"),
      "24px 24px 0",
    ),
    buttons.length === 0 ? "" : tableRow(sideBySide(buttons.map(renderButton)), "18px 24px 0"),
    figures.length === 0 ? "" : tableRow(figureTable(figures, budget), "18px 24px 0"),
    notes.length === 0 ? "" : tableRow(
      `<div class="note ink" style="padding:10px 14px;border-left:4px solid #d9a514;background-color:#fdf5dc;` +
        `color:#16202b;font-size:15px;line-height:22px">${
          notes.map((note) => `<div style="padding:2px 0">${budget.fit(note)}</div>`).join("")
        }</div>`,
      "14px 24px 0",
    ),
    quote === null ? "" : tableRow(
      sectionHeading(quote.heading, budget) +
        `<div class="quote ink" style="padding:12px 16px;border-left:4px solid #1f6fd0;background-color:#f1f6fc;` +
        `color:#16202b;font-size:16px;line-height:24px;${preserveWhitespace}">${
          budget.fit(quote.text)
        }</div>`,
      "20px 24px 0",
    ),
    ...sections.map((section) => renderSection(section, budget)),
    about,
  ].filter((part) => part !== "").join("\n");
}

function tableRow(content: string, padding: string): string {
  return `<tr><td class="pad" style="padding:${padding};${font}">\n${content}\n</td></tr>`;
}

function sectionHeading(text: string, budget: ByteBudget): string {
  return `<h2 class="dim" style="margin:0 0 8px;color:#5a6675;font-size:13px;line-height:18px;font-weight:700;` +
    `letter-spacing:.04em;text-transform:uppercase">${budget.fit(text)}</h2>\n`;
}

/** Places buttons side by side where they fit, without media queries. */
function sideBySide(contents: readonly string[]): string {
  const cells = contents.map((content, index) => {
    const margin = index < contents.length - 1 ? "margin-right:12px;" : "";
    return `<!--[if mso]><td width="281" valign="top"><![endif]-->` +
      `<div class="half" style="display:inline-block;width:100%;max-width:269px;${margin}margin-bottom:12px;` +
      `vertical-align:top">${content}</div>` +
      `<!--[if mso]></td><![endif]-->`;
  });
  return `<!--[if mso]><table ${table}><tr><![endif]-->${
    cells.join("")
  }<!--[if mso]></tr></table><![endif]-->`;
}

const primaryColor = "#0b7a4b";
const secondaryColor = "#1f5fbf";

/** Renders a button. Outlook pads the cell, other programs the link, so that the whole button can be tapped. */
function renderButton({ label, detail, href }: Button, index: number): string {
  const color = index === 0 ? primaryColor : secondaryColor;
  return `<table ${table} width="100%"><tr><td align="center" bgcolor="${color}" style="border-radius:10px;` +
    `background-color:${color};mso-padding-alt:12px 16px">` +
    `<a href="${escapeHtml(href)}" style="display:block;padding:12px 16px;border-radius:10px;color:#ffffff;` +
    `text-decoration:none"><span style="display:block;color:#ffffff;font-size:19px;line-height:25px;` +
    `font-weight:700">${escapeHtml(label)}</span><span style="display:block;color:#ffffff;font-size:15px;` +
    `line-height:21px;overflow-wrap:anywhere;word-break:break-word">${
      escapeHtml(detail)
    }</span></a></td></tr></table>`;
}

function figureTable(figures: readonly Figure[], budget: ByteBudget): string {
  const cells = figures.map(({ value, label, detail }) =>
    `<td width="${Math.floor(100 / figures.length)}%" valign="top" style="padding:0 8px 0 0">` +
    `<div class="ink" style="color:#16202b;font-size:24px;line-height:30px;white-space:nowrap;font-weight:700">${
      budget.fit(value)
    }</div>` +
    `<div class="ink" style="color:#16202b;font-size:15px;line-height:20px">${budget.fit(label)}</div>` +
    `<div class="dim" style="color:#5a6675;font-size:13px;line-height:18px">${budget.fit(detail)}</div></td>`
  );
  return `<table ${table} width="100%"><tr>\n${cells.join("\n")}\n</tr></table>`;
}

function renderSection(section: Section, budget: ByteBudget): string {
  if (section.rows.length === 0) return "";
  return tableRow(
    `${sectionHeading(section.heading, budget)}${renderRows(section.rows, budget)}`,
    "22px 24px 0",
  );
}

function renderRows(rows: readonly Row[], budget: ByteBudget): string {
  const rule = "border-bottom:1px solid #e6eaef;";
  const rendered: string[] = [];
  for (const row of rows) {
    if (!budget.reserveRow()) break;
    rendered.push(
      `<tr><th class="l" align="left" valign="top" scope="row" width="32%" style="padding:9px 12px 9px 0;${rule}` +
        `color:#5a6675;font-size:15px;line-height:22px;font-weight:400">${budget.fit(row.label)}</th>` +
        `<td class="v" valign="top" style="padding:9px 0;${rule}color:#16202b;font-size:16px;line-height:22px;` +
        `${preserveWhitespace}">${renderValue(row, budget)}</td></tr>`,
    );
  }
  const omittedCount = rows.length - rendered.length;
  const more = omittedCount === 0
    ? ""
    : `\n<div class="dim" style="padding-top:9px;color:#5a6675;font-size:15px">` +
      `${omittedCount} more in the attached file</div>`;
  return `<table ${table} width="100%">\n${rendered.join("\n")}\n</table>${more}`;
}

function renderValue({ value, link }: Row, budget: ByteBudget): string {
  if (link === undefined) return budget.fit(value);
  const anchor = (content: string) =>
    `<a class="link" href="${escapeHtml(link.href)}" style="color:#1f5fbf;font-weight:600">${content}</a>`;
  // Without a link text, the value is itself the link, and is validated.
  if (link.text === undefined) return anchor(escapeHtml(value));
  return `${budget.fit(value)}<br>${anchor(escapeHtml(link.text))}`;
}

function renderAbout(rows: readonly Row[], budget: ByteBudget): string {
  const lines = rows.map(({ label, value }) => `${budget.fit(label)}: ${budget.fit(value)}`);
  return `<div class="dim" style="color:#5a6675;font-size:13px;` +
    `line-height:20px;overflow-wrap:anywhere;word-break:break-word">${lines.join("<br>\n")}</div>`;
}

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The Reply-To address; `null` for none. */
  readonly replyTo: string | null;
  /** Whether the HTML was shortened, so that the text must be attached. */
  readonly isCut: boolean;
}

export function renderMail(notification: Notification): MailText {
  const { html, isCut } = notificationHtml(notification);
  return {
    subject: notification.subject,
    text: plainText(notification),
    html,
    replyTo: notification.replyTo,
    isCut,
  };
}
