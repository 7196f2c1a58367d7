/** Renders an event as plain text for a CRM's note. This module is browser compatible. */

import { withoutMarks } from "../lead/exact_numbers.ts";
import type { Row } from "./content.ts";
import { eventNotification, type EventToNotify } from "./event.ts";

/** Chosen: 32,000, the limit of Salesforce's and Zoho's descriptions. */
const summaryLengthMax = 32_000;

/** Returns the event as plain text for a note: everything that the sender gave, each value whole, with cost, source and campaign. */
export function summaryText(event: EventToNotify): string {
  const { banner, title, subtitle, quote, notes, sections, about } = eventNotification(event, {
    isQuotable: false,
  });
  const rows = (list: readonly Row[]) =>
    list.map(({ label, value, link }) => {
      // The display of a number abroad has no country code.
      const number = link?.href.startsWith("tel:+") ? ` (${link.href.slice("tel:".length)})` : "";
      return value.includes("\n") ? `${label}:\n${value}` : `${label}: ${value}${number}`;
    });
  const parts = [
    [banner ?? "", subtitle === "" ? title : `${title}, ${subtitle}`],
    quote === null ? [] : [quote.text],
    ...sections.map(({ heading, rows: list }) =>
      list.length === 0 ? [] : [heading.toUpperCase(), ...rows(list)]
    ),
    notes,
  ];
  const text = parts.map((lines) => lines.filter((line) => line !== "").join("\n")).filter((part) =>
    part !== ""
  ).join("\n\n");
  const end = `\n\n${rows(about).join("\n")}`;
  const left = summaryLengthMax - end.length;
  const start = text.length <= left ? text : `${text.slice(0, left - 1).replace(/[\ud800-\udbff]$/, "")}…`;
  return withoutMarks(start + end);
}
