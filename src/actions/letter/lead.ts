/**
 * The letter of a lead: who it is and how to reach him, what he wants, and then everything else.
 *
 * @module
 */

import { countryDefault } from "../../contract/fields.ts";
import type { DeliveredEvent } from "../event.ts";
import { aboutRows, notesOf } from "./about.ts";
import { reachOf, townOf } from "./contact.ts";
import { bareLetter, type Letter, type Reader } from "./letter.ts";
import { inline, isBlank, lastMembers, readable, type Row, rowOf, visible } from "./rows.ts";
import { preheaderOf, subjectOf } from "./subject.ts";

/** The fields that have a place of their own in the letter. */
const placed = [
  ...["first_name", "last_name", "phone", "email", "street_address", "city", "state", "zip", "country"],
  ...["project_service", "project_area", "project_material", "project_details", "external_id", "cost_cents"],
];

/** What the services are called behind a part of the home. */
const nouns: Readonly<Record<string, string>> = { maintain: "maintenance" };

/**
 * Writes it.
 *
 * Chosen: in the order in which the reader acts: buttons, what is wanted, how and where to reach whom; what the lead
 * cost and where it came from last. In English, like everything that the service writes.
 */
export function leadLetter(event: DeliveredEvent, reader: Reader): Letter {
  const parts = lastMembers(event.content);
  const values = new Map(parts.map(({ name, valueText }) => [name, valueText]));
  const text = (name: string) => {
    const valueText = values.get(name) ?? "null";
    return isBlank(valueText) ? "" : readable(valueText);
  };
  const [city, state, zip] = [text("city"), text("state"), text("zip")];
  const reach = reachOf({
    ...{ phone: text("phone"), email: text("email"), street: text("street_address"), city, state, zip },
    country: text("country") || countryDefault,
  });
  const name = inline(`${text("first_name")} ${text("last_name")}`).trim();
  const project = projectOf(text("project_area"), text("project_service"));
  const what = project || "New lead";
  const town = townOf({ city, state });
  const details = text("project_details");
  return {
    ...bareLetter,
    subject: subjectOf({ what, place: city || zip || state, name }),
    preheader: preheaderOf([reach.buttons[0]?.detail ?? "", details]),
    opening: `New lead for ${inline(reader.name)}`,
    title: name || what,
    subtitle: [name === "" ? "" : project, town].filter((part) => part !== "").join(" in "),
    buttons: reach.buttons,
    quote: details === "" ? null : { heading: "What is wanted", text: details },
    notes: notesOf(event, reach),
    sections: [
      {
        heading: "Project",
        rows: [
          ...row("Service", capitalized(text("project_service"))),
          ...row("Area", capitalized(areaWords(text("project_area")))),
          ...row("Material", text("project_material")),
        ],
      },
      { heading: "Contact", rows: [...row("Name", name), ...reach.rows] },
      {
        heading: "Also sent",
        rows: [...parts.filter(({ name }) => !placed.includes(name)), ...lastMembers(event.extra)]
          .filter(({ valueText }) => !isBlank(valueText)).map(rowOf),
      },
    ],
    about: aboutRows(event, reader, [
      ...row("Cost", dollars(text("cost_cents"))),
      ...row("Reference", text("external_id")),
    ]),
    replyTo: reach.email,
  };
}

function row(label: string, value: string): Row[] {
  return value === "" ? [] : [{ label, value }];
}

/** `Kitchen remodel`, of which either word may be missing. */
function projectOf(area: string, service: string): string {
  const noun = Object.hasOwn(nouns, service) ? nouns[service] as string : service;
  return capitalized(inline(`${areaWords(area)} ${noun}`).trim());
}

/** The one of the vocabulary that lower case does not do justice to. */
function areaWords(area: string): string {
  return area === "hvac" ? "HVAC" : area;
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function dollars(centsText: string): string {
  const cents = Number(centsText);
  return centsText !== "" && Number.isSafeInteger(cents)
    ? `$${(cents / 100).toFixed(2)}`
    : visible(centsText);
}
