/**
 * The mail that a customer reads: subject, plain text and HTML of one event.
 *
 * Whatever an event contains is text here: it can add no header, no markup and no link.
 *
 * @module
 */

import { fieldNames, flags as flagSentences } from "../contract/fields.ts";
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
  const parts = {
    title: `${opening} ${name}`,
    rows,
    sections: sections.filter((section) => section.rows.length > 0),
    notes: event.flags.map(flagSentence),
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
      notes.map((note) => `<li>${escaped(note)}</li>`).join("\n")
    }</ul>`;
  return [
    `<!doctype html><html><head><meta charset="utf-8"><title>${escaped(title)}</title></head>`,
    `<body style="font-family:sans-serif;font-size:15px;color:#222">`,
    `<h1 style="font-size:20px">${escaped(title)}</h1>`,
    tableOf(rows),
    ...sections.map((section) =>
      `<h2 style="font-size:16px">${escaped(section.heading)}</h2>${tableOf(section.rows)}`
    ),
    list,
    `<div style="margin-top:24px;color:#666">${tableOf(about)}</div>`,
    `</body></html>\n`,
  ].filter((part) => part !== "").join("\n");
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ label, value }) =>
    `<tr><th align="left" valign="top" style="padding:2px 16px 2px 0;font-weight:600">${
      escaped(label)
    }</th>` +
    `<td valign="top" style="padding:2px 0">${escaped(value).replaceAll("\n", "<br>\n")}</td></tr>`
  );
  return `<table role="presentation" cellspacing="0" cellpadding="0">\n${cells.join("\n")}\n</table>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Text as HTML. A `<wbr>` stands in what mail programs take for an address and would make a link of; it shows
 * nothing and is not copied.
 */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string)
    .replace(/(?<=\S)(:\/\/|[.@])(?=\S)/g, (joint) => `<wbr>${joint}<wbr>`);
}
