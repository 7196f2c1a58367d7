/**
 * What people read of an event, in whatever form it reaches them: its fields under readable names, and notes about them.
 *
 * Whatever an event contains is text here: no line of it can pose as another field.
 *
 * @module
 */

import { fieldNames, flags as flagSentences } from "../contract/fields.ts";
import { inline, labelOf, lastMembers, type Row, rowOf, shownValue, visible } from "./event_rows.ts";
import type { DeliveredEvent } from "./event.ts";
import { submissionParts } from "./submission_parts.ts";

/**
 * So many lines of what was sent stand in a mail, the known ones first. Chosen: far more than anybody reads or any form
 * asks; a body has room for eight thousand fields, which made a mail of two megabytes.
 */
const rowsMax = 500;

/** Describes the event. */
export function describeEvent(event: DeliveredEvent): EventText {
  const source = inline(event.source);
  const { what, rows, sections, about } = event.kind === "lead"
    ? { what: ["New lead from", source] as const, ...leadParts(event), about: [] }
    : submissionParts(event);
  const { left, ...shown } = fitted(rows, sections);
  return {
    what,
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
}

/** Lines under a heading of their own. */
export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

/** An event in words. */
export interface EventText {
  /** What came, such as "New lead from", and the name of where it came from. */
  readonly what: readonly [opening: string, name: string];
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

/** All of it as lines of text. */
export function plainText({ what, rows, sections, notes, about }: EventText): string {
  const paragraphs = [
    what.join(" "),
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
