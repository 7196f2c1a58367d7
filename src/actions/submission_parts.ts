/**
 * What people read of a form submission: the visitor's answers, where the visitor came from, and which form it was.
 *
 * @module
 */

import { isObject } from "../lead/json.ts";
import { inline, labelOf, lastMembers, type Part, type Row, rowOf, shownValue } from "./event_rows.ts";
import type { DeliveredEvent } from "./event.ts";

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

/**
 * The parts of its text.
 *
 * Chosen: fields in the order of the form under readable labels; yes and no for booleans; what was left blank is left
 * out, because a form sends every field and people read what was filled in; the addresses of the page and of the one
 * before stand with the campaign, apart from what the visitor wrote.
 */
export function submissionParts(event: DeliveredEvent) {
  const fields = lastMembers(event.content).filter(({ valueText }) => !isBlank(valueText));
  const extra = lastMembers(event.extra);
  const form = extra.find(({ name, valueText }) => name === "form_key" && valueText.startsWith('"'));
  const attribution = extra.find(({ name, valueText }) => name === "attribution" && isObjectText(valueText));
  const campaign = attribution === undefined ? [] : lastMembers(attribution.valueText);
  return {
    what: form === undefined
      ? ["New form submission from", inline(event.source)] as const
      : ["New form submission:", inline(shownValue(form.valueText))] as const,
    rows: fields.filter(({ name }) => !visitNames.includes(name)).map(answer),
    sections: [
      {
        heading: "Where it came from",
        rows: [
          ...fields.filter(({ name }) => visitNames.includes(name)).map(answer),
          ...campaign.map((part) => ({
            label: Object.hasOwn(campaignLabels, part.name)
              ? campaignLabels[part.name] as string
              : inline(part.name),
            value: shownValue(part.valueText),
          })),
        ],
      },
      {
        heading: "Also sent",
        rows: extra.filter((part) => part !== form && part !== attribution).map(rowOf),
      },
    ],
    about: form === undefined ? [] : [{ label: "Form", value: inline(shownValue(form.valueText)) }],
  };
}

function answer({ name, valueText }: Part): Row {
  const value = valueText === "true" ? "yes" : valueText === "false" ? "no" : shownValue(valueText);
  return { label: labelOf(name), value };
}

function isBlank(valueText: string): boolean {
  return valueText === "null" || valueText.startsWith('"') && shownValue(valueText).trim() === "";
}

function isObjectText(valueText: string): boolean {
  return isObject(JSON.parse(valueText));
}
