/**
 * The letter of a form submission: who wrote, how to answer, what he wrote, and where he came from.
 *
 * @module
 */

import { countryDefault } from "../../contract/fields.ts";
import { isObject } from "../../lead/json.ts";
import { foldName, knownNames } from "../../lead/known_names.ts";
import { normalizeCountry } from "../../lead/place.ts";
import { normalizeLine } from "../../lead/text.ts";
import type { DeliveredEvent } from "../event.ts";
import { aboutRows, notesOf } from "./about.ts";
import { reachOf } from "./contact.ts";
import { bareLetter, type Letter, type Reader } from "./letter.ts";
import { inline, isBlank, labelOf, lastMembers, type Part, readable, type Row, rowOf } from "./rows.ts";
import { preheaderOf, short, subjectOf } from "./subject.ts";

/** Names of the campaign's parameters for people. */
const campaignLabels: Readonly<Record<string, string>> = {
  utm_source: "Campaign source",
  utm_medium: "Campaign medium",
  utm_campaign: "Campaign",
  utm_term: "Campaign term",
  utm_content: "Campaign content",
  gclid: "Google click id",
};

const visitNames = ["page_url", "referrer"];

/** So many fields are looked through for the contact. Chosen: as many as when the submission was taken. */
const comparedFieldsMax = 500;
const formNameLengthMax = 40;

/**
 * Writes it.
 *
 * Chosen: fields in the order of the form under readable labels; yes and no for booleans; what was left blank is left
 * out, because a form sends every field and people read what was filled in; the addresses of the page and of the one
 * before stand with the campaign, apart from what the visitor wrote. The contact is found as for the operator's search,
 * and stands first; nothing of the place is told twice.
 */
export function submissionLetter(event: DeliveredEvent, reader: Reader): Letter {
  const fields = lastMembers(event.content).filter(({ valueText }) => !isBlank(valueText));
  const { formKey, campaign, more } = readExtra(event.extra);
  const found = contactIn(fields);
  const reach = reachOf(found.contact);
  const from = formKey === null ? inline(event.source) : `the ${formWords(formKey)} form`;
  const what = `New message from ${from}`;
  const visit = fields.filter(({ name }) => visitNames.includes(name));
  return {
    ...bareLetter,
    subject: subjectOf({ what, place: "", name: found.name }),
    preheader: preheaderOf([found.message]),
    opening: `New message for ${inline(reader.name)}`,
    title: found.name || "New message",
    subtitle: `From ${from}`,
    buttons: reach.buttons,
    quote: found.message === "" ? null : { heading: found.messageLabel, text: found.message },
    notes: notesOf(event, reach),
    sections: [
      { heading: "Contact", rows: reach.rows },
      {
        heading: "Answers",
        rows: fields.filter((field) => !visit.includes(field) && !found.told.includes(field)).map(rowOf),
      },
      { heading: "Where it came from", rows: [...visit.map(rowOf), ...campaign] },
      { heading: "Also sent", rows: more.map(rowOf) },
    ],
    about: aboutRows(event, reader, formKey === null ? [] : [{ label: "Form", value: inline(formKey) }]),
    replyTo: reach.email,
  };
}

function readExtra(extraText: string) {
  const extra = lastMembers(extraText);
  const form = extra.find(({ name, valueText }) => name === "form_key" && valueText.startsWith('"'));
  const attribution = extra.find(({ name, valueText }) => name === "attribution" && isObjectText(valueText));
  return {
    formKey: form === undefined ? null : readable(form.valueText),
    campaign: attribution === undefined ? [] : lastMembers(attribution.valueText).map(campaignRow),
    more: extra.filter((part) => part !== form && part !== attribution && !isBlank(part.valueText)),
  };
}

function isObjectText(valueText: string): boolean {
  return isObject(JSON.parse(valueText));
}

function campaignRow({ name, valueText }: Part): Row {
  const label = Object.hasOwn(campaignLabels, name) ? campaignLabels[name] as string : inline(name);
  return { label, value: readable(valueText) };
}

/** `roof-quote` as "roof quote"; the word form follows by itself. */
function formWords(formKey: string): string {
  return short(labelOf(formKey).toLowerCase().replace(/(?: |^)form$/, "") || "form", formNameLengthMax);
}

/** Whom the fields tell of; `told` are those of them that need not be told again. */
function contactIn(fields: readonly Part[]) {
  const byName = new Map<string, Part>();
  for (const field of fields.slice(0, comparedFieldsMax)) {
    const folded = foldName(field.name);
    if (folded !== "" && !byName.has(folded) && !/^(?:true|false)$/.test(field.valueText)) {
      byName.set(folded, field);
    }
  }
  const told: Part[] = [];
  const text = (what: keyof typeof knownNames) => {
    const part = knownNames[what].map((name) => byName.get(name)).find((part) => part !== undefined);
    return { part, words: part === undefined ? "" : readable(part.valueText) };
  };
  const take = (what: keyof typeof knownNames) => {
    const { part, words } = text(what);
    if (part !== undefined) told.push(part);
    return words;
  };
  const country = normalizeLine(take("country")) || countryDefault;
  const contact = {
    ...{ phone: take("phone").trim(), email: take("email").trim() },
    ...{ street: take("street_address"), city: take("city"), state: take("state"), zip: take("zip") },
    country: normalizeCountry(country) ?? country,
  };
  const isWhole = text("last_name").words === "" && text("name").words !== "";
  const name = isWhole ? take("name") : `${take("first_name")} ${take("last_name")}`;
  const messageLabel = text("project_details").part?.name ?? "";
  return {
    contact,
    name: inline(name).trim(),
    message: take("project_details"),
    messageLabel: labelOf(messageLabel),
    told,
  };
}
