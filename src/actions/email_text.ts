/**
 * The mail that a customer reads: subject, plain text and HTML of one event.
 *
 * Whatever an event contains is text here: it can add no header, no markup and no link.
 *
 * @module
 */

import { escaped } from "../http/markup.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Row } from "./event_rows.ts";
import { describeEvent, type EventText, plainText } from "./event_text.ts";

/** A mail without its addresses. */
export interface EmailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const subjectNameLengthMax = 100;

/**
 * Writes the mail.
 *
 * Chosen: the subject has the source of a lead or the form of a submission, the time, and nothing of what was sent,
 * because subjects are shown on locked screens and written to mail logs; no Reply-To, because whoever sent it would
 * choose who gets the answer.
 */
export function composeEmail(event: DeliveredEvent): EmailText {
  const parts = describeEvent(event);
  const [opening, name] = parts.what;
  const shortName = [...name].slice(0, subjectNameLengthMax).join("");
  const time = event.receivedAt.slice(0, 16).replace("T", " ");
  return {
    subject: `${opening} ${shortName} (${time} UTC)`,
    text: plainText(parts),
    html: htmlText(parts),
  };
}

function htmlText({ what, rows, sections, notes, about }: EventText): string {
  const title = what.join(" ");
  const list = notes.length === 0
    ? ""
    : `<h2 style="font-size:16px">Please note</h2><ul>${
      notes.map((note) => `<li>${inert(note)}</li>`).join("\n")
    }</ul>`;
  return [
    `<!doctype html><html><head><meta charset="utf-8"><title>${inert(title)}</title></head>`,
    `<body style="font-family:sans-serif;font-size:15px;color:#222">`,
    `<h1 style="font-size:20px">${inert(title)}</h1>`,
    tableOf(rows),
    ...sections.map((section) =>
      `<h2 style="font-size:16px">${inert(section.heading)}</h2>${tableOf(section.rows)}`
    ),
    list,
    `<div style="margin-top:24px;color:#666">${tableOf(about)}</div>`,
    `</body></html>\n`,
  ].filter((part) => part !== "").join("\n");
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ label, value }) =>
    `<tr><th align="left" valign="top" style="padding:2px 16px 2px 0;font-weight:600">${inert(label)}</th>` +
    `<td valign="top" style="padding:2px 0">${inert(value).replaceAll("\n", "<br>\n")}</td></tr>`
  );
  return `<table role="presentation" cellspacing="0" cellpadding="0">\n${cells.join("\n")}\n</table>`;
}

/**
 * Text as HTML. A `<wbr>` stands around what mail programs take for the joint of an address and would make a link of; it
 * shows nothing and is not copied. A run of dots or at-signs is one joint: one by one, 64 KiB of dots took 50 ms.
 */
function inert(text: string): string {
  // Marked before it is escaped, which makes it up to six times as long; no text has this character.
  const marked = text.replaceAll("\0", "").replace(/(?<=\S)(:\/\/|[.@]+)(?=\S)/g, "\0$1\0");
  return escaped(marked).replaceAll("\0", "<wbr>");
}
