/**
 * What becomes of a value, by example: for the documents. Tests hand every one of them to the validator. This module is
 * browser compatible.
 *
 * @module
 */

import type { FieldName, Flag } from "./fields.ts";

/** One value as it is sent and as it is stored. */
interface NormalizedExample {
  readonly field: FieldName | "cost";
  /** As JSON text where it is a number. */
  readonly sent: string;
  readonly stored: string;
  /** The country it is sent with; left out: none. */
  readonly country?: string;
  readonly flag?: Flag;
  readonly about: string;
}

/** Source: SPEC, Lead envelope; DECISIONS, The lead envelope. */
export const normalizedExamples: readonly NormalizedExample[] = [
  {
    field: "phone",
    sent: "(555) 123-4567",
    stored: "+15551234567",
    about:
      "Ten digits with an area code from 2 on, in any formatting, are a US or Canadian number. Nothing checks that it exists.",
  },
  {
    field: "phone",
    sent: "tel:1.613.555.0147",
    stored: "+16135550147",
    country: "MX",
    about: "So are 1 or +1 and ten such digits, whatever the country.",
  },
  {
    field: "phone",
    sent: "55 1234 5678",
    stored: "55 1234 5678",
    country: "MX",
    flag: "phone_unnormalized",
    about: "Ten bare digits with a `country` whose calling code is not 1 are not one.",
  },
  {
    field: "phone",
    sent: "555-123-4567 x12",
    stored: "555-123-4567 x12",
    flag: "phone_unnormalized",
    about: "An extension or letters: stored as sent.",
  },
  {
    field: "phone",
    sent: "+44 20 7946 0123",
    stored: "+44 20 7946 0123",
    flag: "phone_unnormalized",
    about: "Another country's number: stored as sent.",
  },
  {
    field: "zip",
    sent: "972011234",
    stored: "97201-1234",
    about: "Nine bare digits, in the US.",
  },
  {
    field: "zip",
    sent: "k1a-0b1",
    stored: "K1A 0B1",
    country: "CA",
    about: "A Canadian code, in any country.",
  },
  {
    field: "zip",
    sent: "SW1A 1AA",
    stored: "SW1A 1AA",
    country: "GB",
    about: "Anything else is left alone.",
  },
  { field: "country", sent: "united states", stored: "US", about: "A name that is known, in any case." },
  {
    field: "country",
    sent: "Deutschland",
    stored: "Deutschland",
    flag: "country_unrecognized",
    about: "Any other name: send the code, `DE`.",
  },
  { field: "state", sent: "or", stored: "OR", about: "Two letters are upper-cased, more are left alone." },
  {
    field: "project_area",
    sent: " KITCHEN ",
    stored: "kitchen",
    about: "A term that is known is stored as the vocabulary spells it.",
  },
  {
    field: "project_service",
    sent: " Repair ",
    stored: "repair",
    about: "Case and space around it do not matter.",
  },
  { field: "cost", sent: "12.345", stored: "12.35", about: "Rounded to cents, half a cent up." },
];
