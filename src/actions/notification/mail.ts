/** Renders a notification as a mail: HTML, plain text and subject. */

import { Buffer } from "node:buffer";
import { escaped } from "../../http/markup.ts";
import type { Button, Figure, Notification, Row, Section } from "./content.ts";

/**
 * Escapes text as HTML. An invisible `<wbr>` around joints of addresses keeps mail programs from linking them. A run of
 * dots or at-signs is one joint: one by one, 64 KiB of dots took 50 ms.
 */
function inert(text: string): string {
  // Mark before escaping, which makes text up to six times longer; no text contains this character.
  const marked = text.replaceAll("\0", "").replace(/(?<=\S)(:\/\/|[.。．｡@]+)(?=\S)/g, "\0$1\0");
  return escaped(marked).replaceAll("\0", "<wbr>");
}

/**
 * Escapes text as plain text: a space after joints of addresses that a name follows.
 *
 * Chosen: not a zero-width character, which spam filters look for.
 */
export function unlinked(text: string): string {
  // Match each run only from its start.
  return text.replace(
    /(?<=[^\s.。．｡])[.。．｡]+(?=\p{L}{2})|(?<=\S):\/\/(?=\S)|(?<=[^\s@])@+(?=\S)/gu,
    "$& ",
  );
}

/** An ASCII `http:` or `https:` URL without a user name, which can pose as a host. */
const plainUrl =
  /^["'([<]*https?:\/\/(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,63}(?::\d{1,5})?(?:[/?#][!-~]*|["')\]>.,;:!?]*)$/i;

/** A sender's words as plain text: like {@linkcode unlinked}, except for plain web URLs, which can be copied. */
function asSent(text: string): string {
  return text.replace(/\S+/g, (word) => plainUrl.test(word) ? word : unlinked(word));
}

/** The `style` element; everything else is inline. Outlook on the web inverts colors itself. */
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

/** The plain text. Values are indented, so that none can pose as another field. */
function plainText(notification: Notification): string {
  const lines = (rows: readonly Row[]) => rows.map(rowLines).join("\n");
  const part = (heading: string, body: string) => body === "" ? [] : [`${unlinked(heading)}:\n\n${body}`];
  const { banner, title, subtitle, figures, quote, notes, sections, about } = notification;
  const paragraphs = [
    ...(banner === null ? [] : [`*** ${unlinked(banner)} ***`]),
    unlinked([`${notification.opening}: ${title}`, subtitle].filter((line) => line !== "").join("\n")),
    notification.buttons.map(({ label, detail }) => `${label}: ${detail}`).join("\n"),
    ...figures.map(({ label, value, detail }) =>
      unlinked(`${label}: ${value}${detail === "" ? "" : ` (${detail})`}`)
    ),
    ...(quote === null ? [] : part(quote.heading, indented(asSent(quote.text)))),
    ...part("Please note", notes.map((note) => `- ${unlinked(note)}`).join("\n")),
    ...sections.flatMap(({ heading, rows }) => part(heading, lines(rows))),
    lines(about),
  ];
  return `${paragraphs.filter((paragraph) => paragraph !== "").join("\n\n")}\n`;
}

function rowLines({ label, value, link }: Row): string {
  // A value with our link is a validated address; no other link stands beside it.
  const shown = link === undefined ? asSent(value) : link.text === undefined ? value : unlinked(value);
  const name = unlinked(label);
  const line = shown.includes("\n") ? `${name}:\n${indented(shown)}` : `${name}: ${shown}`;
  return link?.text === undefined ? line : `${line}\n${link.text}: ${link.href}`;
}

function indented(text: string): string {
  return `    ${text.replaceAll("\n", "\n    ")}`;
}

/** A notification as HTML. */
interface NotificationHtml {
  readonly html: string;
  /** Whether something was cut; the plain text is complete. */
  readonly isCut: boolean;
}

/**
 * The byte budget. Chosen: Gmail clips a mail at 102 KB; the frame has 8 KB, and quoted-printable may add a twentieth.
 */
const textBytesMax = 80_000;
/** The budget of one text, so that a long one leaves room for others. */
const oneTextBytesMax = 40_000;
/** The bytes of a table row besides its texts. */
const rowBytes = 400;
const cutNote = "… (cut here; the attached file has all of it)";

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
/** Text that keeps its indents in most mail programs. */
const asWritten = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:break-word";
const table = `role="presentation" border="0" cellpadding="0" cellspacing="0"`;

/** Renders the HTML within the byte budget. */
function notificationHtml(notification: Notification): NotificationHtml {
  const room = new Room();
  const body = bodyOf(notification, room);
  const html = [
    `<!doctype html>`,
    `<html lang="en" dir="ltr"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width,initial-scale=1">`,
    // Keeps Apple's programs from linking text.
    `<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">`,
    `<meta name="x-apple-disable-message-reformatting">`,
    `<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">`,
    `<title>${inert(notification.subject)}</title>`,
    `<style>\n${notificationStyle}\n</style></head>`,
    `<body class="bg" style="margin:0;padding:0;background-color:#eef1f5">`,
    preheader(notification.preheader),
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
  return { html: html.filter((part) => part !== "").join("\n"), isCut: room.isCut };
}

/** The remaining bytes. */
class Room {
  #left = textBytesMax;
  isCut = false;

  /** Text as HTML, cut to the budget. */
  fit(text: string): string {
    const bytesMax = Math.max(0, Math.min(oneTextBytesMax, this.#left));
    let shown = text.slice(0, bytesMax);
    let html = inert(shown);
    for (let bytes = Buffer.byteLength(html); bytes > bytesMax; bytes = Buffer.byteLength(html)) {
      shown = shown.slice(0, Math.floor(shown.length * Math.min(0.9, bytesMax / bytes)));
      html = inert(shown.toWellFormed());
    }
    this.#left -= Buffer.byteLength(html);
    if (shown.length === text.length) return withBreaks(html);
    this.isCut = true;
    return withBreaks(html + cutNote);
  }

  /** Whether another table row fits. */
  hasRow(): boolean {
    this.#left -= rowBytes;
    if (this.#left > 0) return true;
    this.isCut = true;
    return false;
  }
}

function withBreaks(html: string): string {
  return html.replaceAll("\n", "<br>");
}

/** The hidden preview, padded so that no page text follows it. */
function preheader(text: string): string {
  if (text === "") return "";
  return `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px;` +
    `mso-hide:all">${inert(text)}${"&#847;&zwnj;&nbsp;".repeat(40)}</div>`;
}

function bodyOf(notification: Notification, room: Room): string {
  const { banner, opening, title, subtitle, buttons, figures, quote, notes, sections } = notification;
  // First, because it must fit.
  const about = cell(aboutOf(notification.about, room), "22px 24px 26px");
  return [
    banner === null ? "" : cell(
      `<div class="warn" style="padding:12px 16px;border-radius:10px;background-color:#9b1c1c;color:#ffffff;` +
        `font-size:16px;line-height:23px;font-weight:700">${room.fit(banner)}</div>`,
      "24px 24px 0",
    ),
    cell(
      [
        `<div class="dim" style="color:#5a6675;font-size:14px;line-height:20px">${room.fit(opening)}</div>`,
        `<h1 class="ink" style="margin:6px 0 2px;color:#16202b;font-size:28px;line-height:34px;font-weight:700">` +
        `${room.fit(title)}</h1>`,
        subtitle === ""
          ? ""
          : `<div class="ink" style="color:#16202b;font-size:18px;line-height:26px">${
            room.fit(subtitle)
          }</div>`,
      ].join("\n"),
      "24px 24px 0",
    ),
    buttons.length === 0 ? "" : cell(columns(buttons.map(button)), "18px 24px 0"),
    figures.length === 0 ? "" : cell(figureTable(figures, room), "18px 24px 0"),
    notes.length === 0 ? "" : cell(
      `<div class="note ink" style="padding:10px 14px;border-left:4px solid #d9a514;background-color:#fdf5dc;` +
        `color:#16202b;font-size:15px;line-height:22px">${
          notes.map((note) => `<div style="padding:2px 0">${room.fit(note)}</div>`).join("")
        }</div>`,
      "14px 24px 0",
    ),
    quote === null ? "" : cell(
      heading(quote.heading, room) +
        `<div class="quote ink" style="padding:12px 16px;border-left:4px solid #1f6fd0;background-color:#f1f6fc;` +
        `color:#16202b;font-size:16px;line-height:24px;${asWritten}">${room.fit(quote.text)}</div>`,
      "20px 24px 0",
    ),
    ...sections.map((section) => sectionOf(section, room)),
    about,
  ].filter((part) => part !== "").join("\n");
}

function cell(content: string, padding: string): string {
  return `<tr><td class="pad" style="padding:${padding};${font}">\n${content}\n</td></tr>`;
}

function heading(text: string, room: Room): string {
  return `<h2 class="dim" style="margin:0 0 8px;color:#5a6675;font-size:13px;line-height:18px;font-weight:700;` +
    `notification-spacing:.04em;text-transform:uppercase">${room.fit(text)}</h2>\n`;
}

/** Buttons side by side where they fit, without media queries. */
function columns(contents: readonly string[]): string {
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

/** The color of the primary button, and of the others. */
const buttonColours = ["#0b7a4b", "#1f5fbf"];

/** Outlook pads the cell, other programs the link, so that the whole button can be tapped. */
function button({ label, detail, href }: Button, index: number): string {
  const colour = buttonColours[Math.min(index, buttonColours.length - 1)];
  return `<table ${table} width="100%"><tr><td align="center" bgcolor="${colour}" style="border-radius:10px;` +
    `background-color:${colour};mso-padding-alt:12px 16px">` +
    `<a href="${escaped(href)}" style="display:block;padding:12px 16px;border-radius:10px;color:#ffffff;` +
    `text-decoration:none"><span style="display:block;color:#ffffff;font-size:19px;line-height:25px;` +
    `font-weight:700">${escaped(label)}</span><span style="display:block;color:#ffffff;font-size:15px;` +
    `line-height:21px;overflow-wrap:anywhere;word-break:break-word">${
      escaped(detail)
    }</span></a></td></tr></table>`;
}

function figureTable(figures: readonly Figure[], room: Room): string {
  const cells = figures.map(({ value, label, detail }) =>
    `<td width="${Math.floor(100 / figures.length)}%" valign="top" style="padding:0 8px 0 0">` +
    `<div class="ink" style="color:#16202b;font-size:24px;line-height:30px;white-space:nowrap;font-weight:700">${
      room.fit(value)
    }</div>` +
    `<div class="ink" style="color:#16202b;font-size:15px;line-height:20px">${room.fit(label)}</div>` +
    `<div class="dim" style="color:#5a6675;font-size:13px;line-height:18px">${room.fit(detail)}</div></td>`
  );
  return `<table ${table} width="100%"><tr>\n${cells.join("\n")}\n</tr></table>`;
}

function sectionOf(section: Section, room: Room): string {
  if (section.rows.length === 0) return "";
  return cell(`${heading(section.heading, room)}${rowsOf(section.rows, room)}`, "22px 24px 0");
}

function rowsOf(rows: readonly Row[], room: Room): string {
  const rule = "border-bottom:1px solid #e6eaef;";
  const shown: string[] = [];
  for (const row of rows) {
    if (!room.hasRow()) break;
    shown.push(
      `<tr><th class="l" align="left" valign="top" scope="row" width="32%" style="padding:9px 12px 9px 0;${rule}` +
        `color:#5a6675;font-size:15px;line-height:22px;font-weight:400">${room.fit(row.label)}</th>` +
        `<td class="v" valign="top" style="padding:9px 0;${rule}color:#16202b;font-size:16px;line-height:22px;` +
        `${asWritten}">${valueOf(row, room)}</td></tr>`,
    );
  }
  const left = rows.length - shown.length;
  const more = left === 0 ? "" : `\n<div class="dim" style="padding-top:9px;color:#5a6675;font-size:15px">` +
    `${left} more in the attached file</div>`;
  return `<table ${table} width="100%">\n${shown.join("\n")}\n</table>${more}`;
}

function valueOf({ value, link }: Row, room: Room): string {
  if (link === undefined) return room.fit(value);
  const anchor = (content: string) =>
    `<a class="link" href="${escaped(link.href)}" style="color:#1f5fbf;font-weight:600">${content}</a>`;
  // Without a link text, the value is a validated address.
  if (link.text === undefined) return anchor(escaped(value));
  return `${room.fit(value)}<br>${anchor(escaped(link.text))}`;
}

function aboutOf(rows: readonly Row[], room: Room): string {
  const lines = rows.map(({ label, value }) => `${room.fit(label)}: ${room.fit(value)}`);
  return `<div class="dim" style="color:#5a6675;font-size:13px;` +
    `line-height:20px;overflow-wrap:anywhere;word-break:break-word">${lines.join("<br>\n")}</div>`;
}

/** A mail without addresses. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The Reply-To address, or `null` for the sender's. */
  readonly replyTo: string | null;
  /** Whether the HTML was cut, so that the text is attached. */
  readonly isCut: boolean;
}

/** Renders the mail. */
export function mailOf(notification: Notification): MailText {
  const { html, isCut } = notificationHtml(notification);
  return {
    subject: notification.subject,
    text: plainText(notification),
    html,
    replyTo: notification.replyTo,
    isCut,
  };
}
