/** Finds the sender's phone number, email address and name, for the operator's search. */

import { fields as caps, fullNameLengthMax } from "../contract/fields.ts";
import { toE164 } from "../lead/phone.ts";
import { findSender } from "../lead/sender.ts";
import { isLongerThan, normalizeLine, withoutControls } from "../lead/text.ts";
import type { SubmissionPart } from "../store/serving/accept.ts";
import type { Field, Posted } from "./fields.ts";

/** Returns the contact, normalized for search. A value that is blank or too long for an index becomes `null`. */
export function findContact({ fields }: Posted): SubmissionPart["contact"] {
  const { name, lastName, country, take } = findSender(fields, toText);
  const phone = withoutControls(take("phone"));
  return {
    phone: nullIfTooLong(toE164(phone, country) ?? phone, caps.phone.lengthMax),
    email: nullIfTooLong(normalizeLine(take("email")).toLowerCase(), caps.email.lengthMax),
    lastName: nullIfTooLong(lastName.toLowerCase(), caps.last_name.lengthMax),
    fullName: nullIfTooLong(name.toLowerCase(), fullNameLengthMax),
  };
}

/** Returns a string, or a number as written, because a phone number may be a JSON number; `""` for other values. */
function toText(field: Field): string {
  if (field.value === null || typeof field.value === "boolean") return "";
  return typeof field.value === "string" ? field.value : field.valueText;
}

function nullIfTooLong(text: string, lengthMax: number): string | null {
  return text === "" || isLongerThan(text, lengthMax) ? null : text;
}
