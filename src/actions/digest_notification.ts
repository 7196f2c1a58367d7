/** Renders the daily digest. */

import { summarizeSubmission } from "../lead/sender.ts";
import { type ClaimedDigest, countMax, type DigestFigures } from "../store/delivery/digests.ts";
import {
  emptyNotification,
  localTime,
  type Notification,
  type Row,
  singleLine,
} from "../notification/content.ts";

/**
 * Renders a digest. `releaseLink` creates the link that releases a held submission; `null` for no links.
 *
 * Chosen: a digest is also sent for a day without leads or messages, so that a missing digest means a failure.
 */
export function digestNotification(
  { name, timeZone, since, until, isBehind, figures }: ClaimedDigest,
  releaseLink: ((submissionId: string) => string) | null = null,
): Notification {
  const { leads, messages, messages_held: held } = figures;
  const isQuiet = leads + messages === 0;
  const summary = isQuiet
    ? `no leads or messages${heldText(held)}`
    : [...pluralize(leads, "lead"), ...pluralize(messages, "message")].join(", ");
  const undelivered = undeliveredRows(figures);
  const time = (at: string) => localTime(at, timeZone, "brief");
  return {
    ...emptyNotification,
    subject: `${singleLine(name)}, ${localTime(until, timeZone, "day")}: ${summary}`,
    preheader: undelivered.length === 0
      ? "Everything was delivered."
      : undelivered.map(({ label, value }) => `${label}: ${value}`).join(" · "),
    opening: `Daily digest for ${singleLine(name)}`,
    title: summary.replace(/^n/, "N"),
    subtitle: `${time(since)} to ${time(until)}`,
    figures: [
      {
        value: formatNumber(leads),
        label: leads === 1 ? "Lead" : "Leads",
        detail: `${formatNumber(figures.leads_before)} before`,
      },
      {
        value: formatNumber(messages),
        label: messages === 1 ? "Message" : "Messages",
        detail: `${formatNumber(figures.messages_before)} before${heldText(held)}`,
      },
      ...(figures.spend_cents === 0 ? [] : [{
        value: formatDollars(figures.spend_cents),
        label: "Spent",
        detail: "returns not deducted",
      }]),
    ],
    notes: isBehind
      ? ["The latest hours are not counted yet. The next digest covers everything after this period."]
      : [],
    sections: [
      {
        heading: "By source",
        rows: sourceRows(figures),
      },
      {
        heading: "Held messages",
        rows: releaseLink === null ? [] : heldRows(figures, { releaseLink, time }),
      },
      {
        heading: "Silent sources",
        rows: figures.silent.map(({ source, last_hour: at }) => ({
          label: singleLine(source),
          value: `nothing since ${time(at)}`,
        })),
      },
      {
        heading: "Not delivered",
        rows: undelivered.length === 0 ? [{ label: "None", value: "Everything was delivered" }] : undelivered,
      },
    ],
    about: [{ label: "Before", value: "in the preceding period of the same length" }],
  };
}

function sourceRows({ sources, more_sources: more }: DigestFigures): Row[] {
  return [
    ...sources.map(({ source, kind, accepted, before, held, campaign, spend_cents: cents }) => ({
      label: singleLine(source),
      value: `${pluralize(accepted, kind === "lead" ? "lead" : "message")[0] ?? "none"}, ${
        formatNumber(before)
      } before${heldText(held)}${cents === 0 ? "" : `, ${formatDollars(cents)}`}${
        campaign === null ? "" : `, campaign ${campaign}`
      }`,
    })),
    ...(more === 0 ? [] : [{ label: "Others", value: `${formatNumber(more)} more sources` }]),
  ];
}

function heldRows(
  { to_review: toReview }: DigestFigures,
  { releaseLink, time }: {
    readonly releaseLink: (submissionId: string) => string;
    readonly time: (at: string) => string;
  },
): Row[] {
  if (toReview === null) return [];
  return [
    ...toReview.listed.map(({ id, form, received_at: at, fields }) => {
      const { name, contact, excerpt } = summarizeSubmission(fields);
      const lines = [excerpt, name === "" ? "" : contact, `${time(at)}, form ${form}`];
      return {
        label: singleLine(name || contact) || "No name or address",
        value: lines.filter((line) => line !== "").map(singleLine).join("\n"),
        link: { href: releaseLink(id), text: "Release this message" },
      };
    }),
    ...(toReview.more === 0
      ? []
      : [{ label: "Others", value: `${formatNumber(toReview.more)} more, without links` }]),
  ];
}

function undeliveredRows(figures: DigestFigures): Row[] {
  const { waiting, oldest_waiting_s: oldestS, dead, held, collisions } = figures;
  const row = (label: string, number: number, value: string): Row[] =>
    number === 0 ? [] : [{ label, value: `${formatBoundedCount(number)}${value}` }];
  return [
    ...row("Waiting", waiting, `, the oldest for ${formatAge(oldestS ?? 0)}`),
    ...row("Failed", dead, ", not retried automatically"),
    ...row("Held as spam", held, ", waiting for review"),
    ...row("Not accepted", collisions, ", sent with the ID of another person's lead"),
  ];
}

function heldText(number: number): string {
  return number === 0 ? "" : `, ${formatNumber(number)} held as spam`;
}

/** Formats a count that the store caps at {@linkcode countMax} + 1. */
function formatBoundedCount(number: number): string {
  return number > countMax ? `more than ${countMax.toLocaleString("en-US")}` : formatNumber(number);
}

function pluralize(number: number, noun: string): string[] {
  return number === 0 ? [] : [`${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`];
}

/** Formats a duration, rounded down, in days, hours or minutes; at least one minute. */
function formatAge(seconds: number): string {
  const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["minute", 60];
  const number = Math.max(1, Math.floor(seconds / size));
  return pluralize(number, unit)[0] as string;
}

function formatDollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}

function formatNumber(number: number): string {
  return number.toLocaleString("en-US");
}
