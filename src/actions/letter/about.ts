/**
 * What a letter says of the event itself: when and where it came from, and what is to be known before one acts.
 *
 * @module
 */

import type { Flag } from "../../contract/fields.ts";
import type { DeliveredEvent } from "../event.ts";
import type { Reach } from "./contact.ts";
import type { Reader } from "./letter.ts";
import { localTime } from "./local_time.ts";
import { inline, labelOf, type Row } from "./rows.ts";

/** When it came, what the kind of event adds, where it came from, and by which id the service knows it. */
export function aboutRows(event: DeliveredEvent, reader: Reader, more: readonly Row[]): Row[] {
  return [
    { label: "Received", value: localTime(event.receivedAt, reader.timeZone, "moment") },
    ...more,
    { label: "Source", value: inline(event.source) },
    { label: "Event", value: event.eventId },
  ];
}

/**
 * The flags as whoever reads the lead understands them; those of the contract are for whoever sends it. Empty for what
 * the letter shows by itself.
 */
const flagNotes: Readonly<Record<Flag, string>> = {
  phone_unnormalized: "The phone number could not be checked. It is shown as it was sent.",
  project_area_unknown: "The part of the home is named in the sender's own words.",
  project_service_unknown: "The kind of work is named in the sender's own words.",
  email_shape_suspect: "The email address does not look like one. It may be mistyped.",
  extra_fields_preserved: "",
  country_unrecognized: "The country was not recognized. It is shown as it was sent.",
};

/** What is to be known before one acts. */
export function notesOf(event: DeliveredEvent, reach: Reach): string[] {
  return event.flags.flatMap((flag) => {
    if (!Object.hasOwn(flagNotes, flag)) return [labelOf(flag)];
    // A number that can be dialled with a tap needs no warning.
    if (flag === "phone_unnormalized" && !reach.isPhoneDoubtful) return [];
    const note = flagNotes[flag as Flag];
    return note === "" ? [] : [note];
  });
}
