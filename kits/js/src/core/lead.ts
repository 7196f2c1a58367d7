/**
 * A lead, and how it is written. This module is browser compatible.
 *
 * @module
 */

import { MisconfiguredError } from "./errors.ts";

/**
 * A sales lead, as it is posted: the server trims, normalizes and checks it, the kit changes nothing. Fields that are
 * not listed pass through and are kept by the server.
 */
export interface Lead {
  /** Given name. The server requires it. */
  readonly first_name?: string;
  /** Surname. The server requires it. */
  readonly last_name?: string;
  /** In any format. The server requires it. */
  readonly phone?: string;
  /** Looked at for its shape only, and kept when that is odd. */
  readonly email?: string;
  /** Street line of the address of the job. */
  readonly street_address?: string;
  /** Free text. */
  readonly city?: string;
  /** Two letters in the US and Canada; free text elsewhere. */
  readonly state?: string;
  /** US with 5 or 9 digits, Canadian, or free text elsewhere. */
  readonly zip?: string;
  /** ISO 3166 alpha-2; `US` when left out. */
  readonly country?: string;
  /** Which part of the home; your own word where the vocabulary has none. */
  readonly project_area?: string;
  /** `replacement`, `repair`, `remodel` or `maintain`. */
  readonly project_service?: string;
  /** Free text. */
  readonly project_material?: string;
  /** The homeowner's own description; line breaks are kept. */
  readonly project_details?: string;
  /** Your id of the lead. */
  readonly external_id?: string;
  /**
   * What the contact cost in US dollars, 0.01 to 999.99; left out when there is no charge. A decimal in a string, such
   * as `"12.50"`, is written as the number it shows, digit for digit.
   */
  readonly cost?: number | string;
  /** Whatever else you know of the lead: the server keeps it. */
  readonly [field: string]: unknown;
}

/** A number as JSON writes it. */
const jsonNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

/**
 * The text of a lead. JSON text is taken as it is; of an object, a `cost` that is a decimal in a string and a `bigint`
 * are written as numbers, digit for digit.
 *
 * @throws {MisconfiguredError} when the object cannot be written as JSON
 */
export function writeLead(lead: Lead | string): string {
  if (typeof lead === "string") return lead;
  let text: string | undefined;
  try {
    text = hasDigits(lead) ? objectText(lead) : JSON.stringify(lead);
  } catch {
    // The engine's error may quote the lead.
    throw new MisconfiguredError("The lead cannot be written as JSON");
  }
  if (text === undefined) throw new MisconfiguredError("No lead was given");
  return text;
}

/** Whether a value is a number that JSON.stringify would refuse, or write as text. */
function hasDigits(lead: unknown): lead is Record<string, unknown> {
  if (typeof lead !== "object" || lead === null || Array.isArray(lead)) return false;
  if (typeof (lead as { toJSON?: unknown }).toJSON === "function") return false;
  return Object.entries(lead).some(([name, value]) => isDigits(name, value));
}

function isDigits(name: string, value: unknown): boolean {
  return typeof value === "bigint" ||
    (name === "cost" && typeof value === "string" && jsonNumber.test(value));
}

function objectText(lead: Record<string, unknown>): string {
  const members: string[] = [];
  for (const [name, value] of Object.entries(lead)) {
    const text = isDigits(name, value) ? String(value) : JSON.stringify(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
