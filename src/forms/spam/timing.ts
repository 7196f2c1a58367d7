/**
 * How long a form took to fill in. Time is passed in. This module is browser compatible.
 *
 * @module
 */

import type { FormValue, Submission } from "./reading.ts";
import type { Sign } from "./reasons.ts";

/**
 * Names of the field in which a form may say when it was opened, in order of preference: ISO 8601 with a zone,
 * or Unix time in seconds or milliseconds, as a number or as text.
 */
export const startedAtNames = ["form_started_at", "_started_at", "form_loaded_at", "_loaded_at"] as const;

const iso = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/i;
const digits = /^\d{10}(\d{3})?(\.\d{1,6})?$/;
/** A form that has been open for longer is a forgotten tab, or a cached page. */
const openMsMax = 24 * 60 * 60 * 1000;

/**
 * Whether the fill was too fast. A missing, unreadable, future or absurd time is no sign.
 *
 * Chosen: never enough to hold by itself, because a site may set the field when it sends, and a visitor's clock
 * may be seconds off.
 */
export function timingSigns(submission: Submission, receivedAtMs: number): readonly Sign[] {
  const name = startedAtNames.find((one) => submission.has(one));
  const startedAtMs = name === undefined ? undefined : readTime(submission.get(name)?.value ?? null);
  if (startedAtMs === undefined) return [];
  const openMs = receivedAtMs - startedAtMs;
  if (!(openMs >= 0 && openMs <= openMsMax)) return [];
  return [["too_fast", openMs < 2000 ? 2 : openMs < 4000 ? 1 : 0]];
}

function readTime(value: FormValue): number | undefined {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  if (digits.test(text)) {
    const [whole = ""] = text.split(".");
    return whole.length === 13 ? Number(text) : Number(text) * 1000;
  }
  if (!iso.test(text)) return undefined;
  const ms = Date.parse(text.replace(" ", "T"));
  return Number.isNaN(ms) ? undefined : ms;
}
