/**
 * The mail that a customer reads: subject, plain text and HTML of one event.
 *
 * Whatever an event contains is text here: it can add no header, no markup and no link.
 *
 * @module
 */

import { fieldNames, flags as flagSentences } from "../contract/fields.ts";
import { escaped } from "../http/markup.ts";
import { inline, labelOf, lastMembers, type Row, rowOf, shownValue, visible } from "./email_rows.ts";
import { submissionParts } from "./email_submission.ts";
import type { DeliveredEvent } from "./event.ts";

/** A mail without its addresses. */
export interface EmailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const subjectNameLengthMax = 100;

/**
 * So many lines of what was sent stand in a mail, the known ones first. Chosen: far more than anybody reads or any form
 * asks; a body has room for eight thousand fields, which made a mail of two megabytes.
 */
const rowsMax = 500;

/**
 * Writes the mail.
 *
 * Chosen: the subject has the source of a lead or the form of a submission, the time, and nothing of what was sent,
 * because subjects are shown on locked screens and written to mail logs; no Reply-To, because whoever sent it would
 * choose who gets the answer.
 */
export function composeEmail(event: DeliveredEvent): EmailText {
  const source = inline(event.source);
  const time = event.receivedAt.slice(0, 16).replace("T", " ");
  const { what, rows, sections, about } = event.kind === "lead"
    ? { what: ["New lead from", source] as const, ...leadParts(event), about: [] }
    : submissionParts(event);
  const [opening, name] = what;
  const { left, ...shown } = fitted(rows, sections);
  const parts = {
    title: `${opening} ${name}`,
    ...shown,
    notes: [
      ...event.flags.map(flagSentence),
      ...(left === 0 ? [] : [`${left} more fields were sent than a mail has room for.`]),
    ],
    about: [
      { label: "Received", value: `${event.receivedAt.slice(0, 19).replace("T", " ")} UTC` },
      ...about,
      { label: "Source", value: source },
      { label: "Event", value: event.eventId },
    ],
  };
  const shortName = [...name].slice(0, subjectNameLengthMax).join("");
  return {
    subject: `${opening} ${shortName} (${time} UTC)`,
    text: plainText(parts),
    html: htmlText(parts),
  };
}

/** Lines under a heading of their own. */
interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

interface Parts {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly sections: readonly Section[];
  readonly notes: readonly string[];
  readonly about: readonly Row[];
}

/** As many lines as a mail has, and how many are left. */
function fitted(rows: readonly Row[], sections: readonly Section[]) {
  let room = rowsMax;
  const take = (all: readonly Row[]) => {
    const taken = all.slice(0, room);
    room -= taken.length;
    return taken;
  };
  const shown = take(rows);
  const shownSections = sections.map(({ heading, rows }) => ({ heading, rows: take(rows) }));
  const sent = rows.length + sections.reduce((sum, section) => sum + section.rows.length, 0);
  return {
    rows: shown,
    sections: shownSections.filter((section) => section.rows.length > 0),
    left: sent - (rowsMax - room),
  };
}

/** The fields in the order of the envelope, the cost last. */
function leadParts(event: DeliveredEvent): { rows: Row[]; sections: Section[] } {
  const order = new Map<string, number>([...fieldNames, "cost_cents"].map((name, index) => [name, index]));
  const place = (name: string) => order.get(name) ?? order.size;
  const fields = lastMembers(event.content).sort((a, b) => place(a.name) - place(b.name));
  return {
    rows: fields.map(({ name, valueText }) =>
      name === "cost_cents"
        ? { label: "Cost", value: dollars(valueText) }
        : { label: labelOf(name), value: shownValue(valueText) }
    ),
    sections: [{ heading: "Also sent", rows: lastMembers(event.extra).map(rowOf) }],
  };
}

function dollars(centsText: string): string {
  const cents = Number(centsText);
  return Number.isSafeInteger(cents) ? `$${(cents / 100).toFixed(2)}` : visible(centsText);
}

function flagSentence(flag: string): string {
  return Object.hasOwn(flagSentences, flag)
    ? flagSentences[flag as keyof typeof flagSentences]
    : visible(flag);
}

function plainText({ title, rows, sections, notes, about }: Parts): string {
  const paragraphs = [
    title,
    ...(rows.length === 0 ? [] : [lines(rows)]),
    ...sections.map((section) => `${section.heading}:\n\n${lines(section.rows)}`),
    ...(notes.length === 0 ? [] : [`Please note:\n\n${notes.map((note) => `- ${note}`).join("\n")}`]),
    lines(about),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

function lines(rows: readonly Row[]): string {
  return rows.map(({ label, value }) =>
    // A line of the value cannot pose as a field: it is indented.
    value.includes("\n") ? `${label}:\n    ${value.replaceAll("\n", "\n    ")}` : `${label}: ${value}`
  ).join("\n");
}

function htmlText({ title, rows, sections, notes, about }: Parts): string {
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
