/**
 * The mail that a customer reads: subject, plain text and HTML of one event.
 *
 * Whatever an event contains is text here: it can add no header, no markup and no link.
 *
 * @module
 */

import { fieldNames, flags as flagSentences } from "../contract/fields.ts";
import { decode, members } from "../lead/json.ts";
import type { DeliveredEvent } from "./event.ts";

/** A mail without its addresses. */
export interface EmailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** One line of the mail: a name and its value, which may have several lines. */
interface Row {
  readonly label: string;
  readonly value: string;
}

const subjectSourceLengthMax = 100;

/**
 * Writes the mail.
 *
 * Chosen: the subject has the source and the time and nothing of the lead, because subjects are shown on locked
 * screens and written to mail logs; no Reply-To, because the lead would choose who gets the answer.
 */
export function composeEmail(event: DeliveredEvent): EmailText {
  const source = visible(event.source).replaceAll("\n", " ");
  const what = event.kind === "lead" ? "lead" : "form submission";
  const time = event.receivedAt.slice(0, 16).replace("T", " ");
  const parts = {
    title: `New ${what} from ${source}`,
    rows: contentRows(event),
    extraRows: rowsOf(event.extra),
    notes: event.flags.map(flagSentence),
    about: [
      { label: "Received", value: `${event.receivedAt.slice(0, 19).replace("T", " ")} UTC` },
      { label: "Source", value: source },
      { label: "Event", value: event.eventId },
    ],
  };
  const shortSource = [...source].slice(0, subjectSourceLengthMax).join("");
  return {
    subject: `New ${what} from ${shortSource} (${time} UTC)`,
    text: plainText(parts),
    html: htmlText(parts),
  };
}

type Parts = {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly extraRows: readonly Row[];
  readonly notes: readonly string[];
  readonly about: readonly Row[];
};

/** The fields in the order of the envelope, the cost last; a submission's as they were sent. */
function contentRows(event: DeliveredEvent): Row[] {
  if (event.kind === "form") return rowsOf(event.content);
  const order = new Map<string, number>([...fieldNames, "cost_cents"].map((name, index) => [name, index]));
  const place = (name: string) => order.get(name) ?? order.size;
  const fields = lastMembers(event.content).sort((a, b) => place(a.name) - place(b.name));
  return fields.map(({ name, valueText }) =>
    name === "cost_cents"
      ? { label: "Cost", value: dollars(valueText) }
      : { label: labelOf(name), value: shownValue(valueText) }
  );
}

function rowsOf(objectText: string): Row[] {
  return lastMembers(objectText).map(({ name, valueText }) => ({
    label: visible(name).replaceAll("\n", " "),
    value: shownValue(valueText),
  }));
}

/** The members of an object; of duplicates the last. */
function lastMembers(objectText: string): { name: string; valueText: string }[] {
  const byName = new Map(members(objectText).map(({ name, valueText }) => [name, valueText]));
  return [...byName].map(([name, valueText]) => ({ name, valueText }));
}

/** `street_address` as "Street address". */
function labelOf(name: string): string {
  if (name === "zip") return "ZIP";
  const words = visible(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A string as its text, anything else as it was written. */
function shownValue(valueText: string): string {
  return visible(valueText.startsWith('"') ? decode(valueText) : valueText);
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

/** Text without what cannot be seen or turns text around; line breaks stay. */
function visible(text: string): string {
  return text.toWellFormed().replace(/\r\n?|[\u2028\u2029\u0085]/g, "\n").replaceAll("\t", " ")
    .replace(/(?!\n)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "");
}

function plainText({ title, rows, extraRows, notes, about }: Parts): string {
  const sections = [
    title,
    lines(rows),
    ...(extraRows.length === 0 ? [] : [`Also sent:\n\n${lines(extraRows)}`]),
    ...(notes.length === 0 ? [] : [`Please note:\n\n${notes.map((note) => `- ${note}`).join("\n")}`]),
    lines(about),
  ];
  return `${sections.join("\n\n")}\n`;
}

function lines(rows: readonly Row[]): string {
  return rows.map(({ label, value }) =>
    // A line of the value cannot pose as a field: it is indented.
    value.includes("\n") ? `${label}:\n    ${value.replaceAll("\n", "\n    ")}` : `${label}: ${value}`
  ).join("\n");
}

function htmlText({ title, rows, extraRows, notes, about }: Parts): string {
  const extra = extraRows.length === 0
    ? ""
    : `<h2 style="font-size:16px">Also sent</h2>${tableOf(extraRows)}`;
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
    extra,
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
