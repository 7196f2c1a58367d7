/** The daily digest: counts of what arrived and waits. */

import { type ClaimedDigest, countMax, type DigestFigures } from "../../store/delivery/digests.ts";
import { bareNotification, inline, localTime, type Notification, type Row, visible } from "./content.ts";

/**
 * Renders the digest; `releaseLink` creates the link that releases a held submission, or is `null`.
 *
 * Chosen: sent on days without leads too, so that a missing digest means a failure.
 */
export function digestNotification(
  { name, timeZone, since, until, isBehind, figures }: ClaimedDigest,
  releaseLink: ((submissionId: string) => string) | null = null,
): Notification {
  const { leads, messages, messages_held: held } = figures;
  const isQuiet = leads + messages === 0;
  const came = isQuiet
    ? `nothing came${heldText(held)}`
    : [...some(leads, "lead"), ...some(messages, "message")].join(", ");
  const wants = waitingRows(figures);
  const time = (at: string) => localTime(at, timeZone, "brief");
  return {
    ...bareNotification,
    subject: `${inline(name)}, ${localTime(until, timeZone, "day")}: ${came}`,
    preheader: wants.length === 0
      ? "Nothing waits."
      : wants.map(({ label, value }) => `${label}: ${value}`).join(" · "),
    opening: `Daily digest for ${inline(name)}`,
    title: isQuiet ? came.replace(/^n/, "N") : came,
    subtitle: `${time(since)} to ${time(until)}`,
    figures: [
      {
        value: plain(leads),
        label: leads === 1 ? "Lead" : "Leads",
        detail: `${plain(figures.leads_before)} before`,
      },
      {
        value: plain(messages),
        label: messages === 1 ? "Message" : "Messages",
        detail: `${plain(figures.messages_before)} before${heldText(held)}`,
      },
      ...(figures.spend_cents === 0
        ? []
        : [{ value: `$${(figures.spend_cents / 100).toFixed(2)}`, label: "Spent", detail: "" }]),
    ],
    notes: isBehind ? ["The counting is late: what came after this time is in the next digest."] : [],
    sections: [
      {
        heading: "What came, by source",
        rows: sourceRows(figures),
      },
      {
        heading: "Held messages",
        rows: releaseLink === null ? [] : heldRows(figures, releaseLink),
      },
      {
        heading: "Gone silent",
        rows: figures.silent.map(({ source, last_hour: at }) => ({
          label: inline(source),
          value: `nothing since ${time(at)}`,
        })),
      },
      {
        heading: "What waits",
        rows: wants.length === 0 ? [{ label: "Nothing", value: "All that came was delivered" }] : wants,
      },
    ],
    about: [{ label: "Before", value: "in a span as long, right before this one" }],
  };
}

function sourceRows({ sources, more_sources: more }: DigestFigures): Row[] {
  return [
    ...sources.map(({ source, kind, accepted, before, held }) => ({
      label: inline(source),
      value: `${some(accepted, kind === "lead" ? "lead" : "message")[0] ?? "nothing"}, ${
        plain(before)
      } before${heldText(held)}`,
    })),
    ...(more === 0 ? [] : [{ label: "Others", value: `${plain(more)} more sources` }]),
  ];
}

function heldRows({ to_judge: held }: DigestFigures, releaseLink: (submissionId: string) => string): Row[] {
  if (held === null) return [];
  return [
    ...held.listed.map(({ id, form, sender, excerpt }) => ({
      label: inline(sender) || "No address",
      value: `${visible(excerpt)}\nForm: ${inline(form)}`,
      link: { href: releaseLink(id), text: "Release this message" },
    })),
    ...(held.more === 0 ? [] : [{ label: "Others", value: `${plain(held.more)} more, without links` }]),
  ];
}

function waitingRows(figures: DigestFigures): Row[] {
  const { waiting, oldest_waiting_s: oldestS, dead, held, collisions } = figures;
  const row = (label: string, number: number, value: string): Row[] =>
    number === 0 ? [] : [{ label, value: `${count(number)}${value}` }];
  return [
    ...row("To be delivered", waiting, `, the oldest for ${age(oldestS ?? 0)}`),
    ...row("Could not be delivered", dead, ", until they are sent again"),
    ...row("Held as spam", held, ", waiting for review"),
    ...row("Not accepted", collisions, ", whose key another person's lead had used"),
  ];
}

/** The subject's addition for held submissions; empty for none. */
function heldText(number: number): string {
  return number === 0 ? "" : `, ${plain(number)} held as spam`;
}

/** A number, or "more than" for one that was counted only up to a bound. */
function count(number: number): string {
  return number > countMax ? `more than ${countMax.toLocaleString("en-US")}` : plain(number);
}

function some(number: number, what: string): string[] {
  return number === 0 ? [] : [`${plain(number)} ${what}${number === 1 ? "" : "s"}`];
}

/** In the largest whole unit. */
function age(seconds: number): string {
  const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["minute", 60];
  const number = Math.max(1, Math.floor(seconds / size));
  return some(number, unit)[0] as string;
}

function plain(number: number): string {
  return number.toLocaleString("en-US");
}
