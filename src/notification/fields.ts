/** Sorts a sender's further fields into answers, consent and visit, and leaves out those that say nothing to a reader. This module is browser compatible. */

import { fieldLetters, technicalKind } from "../lead/technical_fields.ts";
import { fieldRow, isBlank, lastMembers, type Member, readableValue, type Row } from "./content.ts";

/** The rows of a sender's fields. */
export interface SortedFields {
  readonly answers: readonly Row[];
  /** Certificates, then the sender's own answers. */
  readonly consent: readonly Row[];
  readonly visit: readonly Row[];
}

/**
 * Sorts fields that are not shown elsewhere. Leaves out blank fields, tokens, times at which a page was rendered, and names of the
 * form.
 */
export function sortFields(fields: readonly Member[]): SortedFields {
  const certificates = new Map<string, Row>();
  const sorted = { answers: [] as Row[], consent: [] as Row[], visit: [] as Row[] };
  for (const field of fields) {
    const { name, valueText } = field;
    if (isBlank(valueText) || isPingUrl(readableValue(valueText))) continue;
    // A partner may nest what documents the consent.
    for (const nested of valueText.startsWith("{") ? lastMembers(valueText) : []) {
      addCertificate(nested, certificates);
    }
    if (addCertificate(field, certificates)) continue;
    const kind = technicalKind(name);
    if (isConsent(name, valueText)) sorted.consent.push(consentRow(field));
    else if (kind === "page" || kind === "visit") sorted.visit.push(visitRow(field));
    // Prose was written by a person, or by a program that did not know the hidden fields.
    else if (kind === null || kind === "certificate" || /\s/.test(readableValue(valueText))) {
      sorted.answers.push(fieldRow(field));
    }
  }
  return { ...sorted, consent: [...certificates.values(), ...sorted.consent] };
}

/** Adds a certificate's row once, however many fields have it; returns whether the field is a certificate. */
function addCertificate(field: Member, rows: Map<string, Row>): boolean {
  const row = certificateRow(field);
  if (row !== null) rows.set(row.value, row);
  return row !== null;
}

/**
 * The providers whose pages document a consent, by the end of their hosts.
 *
 * Source: ActiveProspect, TrustedForm API (`https://cert.trustedform.com/` and 40 hexadecimal digits, or 80 characters from an
 * app); Contact State, Certify (a certificate URL); Jornaya (now Verisk), LeadiD.
 */
const certificateUrls: readonly (readonly [RegExp, provider: string])[] = [
  ["trustedform\\.com", "TrustedForm"],
  ["contactstate\\.com", "Contact State"],
  ["(?:leadid|jornaya)\\.com", "Jornaya"],
].map(([host, provider]) => [
  // Neither a user name nor a port, backslash or fragment fits, so that the host is what a browser opens.
  new RegExp(`^https://(?:[a-z\\d-]{1,63}\\.){0,3}${host}/[\\w./?&=%+~-]{8,400}$`),
  provider as string,
]);

/** What stands under a name of the kind `certificate`: the ids of TrustedForm (as in its URLs) and of LeadiD, a UUID. */
const certificateIds: readonly (readonly [name: RegExp, id: RegExp, label: string])[] = [
  [/trusted_?form/i, /^(?:[\da-f]{40}|[\w-]{80})$/i, "TrustedForm certificate"],
  [/jornaya|universal|lead_?id/i, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, "Jornaya LeadiD"],
];

/** Returns a certificate's row: a link for the URL of a known provider in any field, text for an id; `null` for anything else. */
function certificateRow({ name, valueText }: Member): Row | null {
  const value = readableValue(valueText).trim();
  const provider = certificateUrls.find(([pattern]) => pattern.test(value))?.[1];
  if (provider !== undefined) return { label: `${provider} certificate`, value, link: { href: value } };
  if (technicalKind(name) !== "certificate") return null;
  const label = certificateIds.find(([names, ids]) => names.test(name) && ids.test(value))?.[2];
  return label === undefined ? null : { label, value };
}

/** Whether a value is the URL with which programs check a TrustedForm certificate; no browser opens it. */
function isPingUrl(value: string): boolean {
  return value.startsWith("https://ping.trustedform.com/");
}

/** The names of consents, as {@linkcode fieldLetters}. A privacy fence or payment terms are no consent. */
const consentNames =
  /consent|tcpa|gdpr|ccpa|optin|agree(?:to|d$)|accept(?:ed|ance|s)?(?:of)?(?:the)?(?:terms|privacy|tos|conditions)|^(?:i|we)?(?:agree|accept)(?:ment|ance)?\d*$|^(?:the|our)?terms(?:$|of|and|conditions|agree|accept|check)|^tos$|^privacy(?:$|policy|notice|agree|accept|check)/;

/** The names that also stand for something else, unless the value is the text of a disclosure. */
const disclosureNames =
  /agree|accept|disclos|disclaim|permission|authoriz|terms|privacy|policy|sms|text|marketing|newsletter/;
const disclosureLengthMin = 80;
const disclosureWords = /\b(?:i|you|we) (?:\w+ ){0,3}(?:agree|consent|accept|authorize|opt)\b/i;

function isConsent(name: string, valueText: string): boolean {
  const letters = fieldLetters(name);
  // A site may send the checkbox's label as its name.
  if (consentNames.test(letters) || disclosureWords.test(name)) return true;
  const value = readableValue(valueText);
  return disclosureNames.test(letters) && value.length > disclosureLengthMin && disclosureWords.test(value);
}

/** Returns the row of a consent, whose checkbox may also send a number. */
function consentRow(field: Member): Row {
  const row = fieldRow(field);
  return { ...row, value: row.value === "1" ? "yes" : row.value === "0" ? "no" : row.value };
}

/** The labels of visit fields, by {@linkcode fieldLetters}. */
const visitLabels: Readonly<Record<string, string>> = {
  utmsource: "Campaign source",
  utmmedium: "Campaign medium",
  utmcampaign: "Campaign",
  utmterm: "Campaign term",
  utmcontent: "Campaign content",
  utmid: "Campaign id",
  gclid: "Google click id",
  gbraid: "Google click id (app)",
  wbraid: "Google click id (web)",
  fbclid: "Facebook click id",
  fbc: "Facebook click id",
  fbp: "Facebook browser id",
  msclkid: "Microsoft click id",
  ttclid: "TikTok click id",
  ga: "Google Analytics id",
  gaclientid: "Google Analytics id",
  hutk: "HubSpot visitor id",
  hubspotutk: "HubSpot visitor id",
  ipaddress: "IP address",
  ip: "IP address",
  referer: "Referrer",
  wphttpreferer: "Referrer",
};

/** Returns the row of a field about the visit, or of a campaign's parameter. */
export function visitRow(field: Member): Row {
  const { label, value } = fieldRow(field);
  const letters = fieldLetters(field.name);
  return { label: Object.hasOwn(visitLabels, letters) ? visitLabels[letters] as string : label, value };
}
