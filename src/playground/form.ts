/**
 * The lead as a form. The JSON text is what counts: the form writes single members of it and leaves the rest
 * as it is.
 */

/// <reference lib="dom" />

import { fieldNames } from "../contract/fields.ts";
import { byId, fill, rich } from "./dom.ts";
import { placeOf, places, setMember } from "./edit_json.ts";

const names = [...fieldNames, "cost"];
const form = byId("form", HTMLElement);
const broken = byId("form-broken", HTMLElement);

type Input = HTMLInputElement | HTMLTextAreaElement;

function input(name: string): Input {
  return document.getElementById(`field-${name}`) as Input;
}

/** A number as it is written; anything else as a string, so that the answer tells what is wrong with it. */
function valueText(name: string, typed: string): string | null {
  if (typed === "") return null;
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(typed.trim());
  return name === "cost" && isNumber ? typed.trim() : JSON.stringify(typed);
}

/** Calls back with the new text whenever a field is edited. */
export function listen(read: () => string, write: (text: string) => void): void {
  form.addEventListener("input", (event) => {
    const name = (event.target as HTMLElement).id.replace("field-", "");
    if (!names.includes(name)) return;
    const text = read().trim() === "" ? "{}" : read();
    write(setMember(text, name, valueText(name, input(name).value)));
  });
}

/** Shows a text's members in the form; a text that is no object leaves the form empty and says why. */
export function show(text: string): void {
  const found = text.trim() === "" ? [] : places(text.replace(/^\ufeff/, ""));
  broken.hidden = found !== null;
  for (const name of names) {
    const field = input(name);
    field.disabled = found === null;
    const written = found === null ? undefined : placeOf(found, name)?.valueText;
    const value = asTyped(written);
    // Writing a value moves the caret, even where it is the same.
    if (field !== document.activeElement && field.value !== value) field.value = value;
  }
}

function asTyped(written: string | undefined): string {
  if (written === undefined || written === "null") return "";
  return written.startsWith('"') ? String(JSON.parse(written)) : written;
}

/** What there is to say at a field. */
interface Remark {
  readonly kind: "failing" | "flagged";
  readonly text: string;
}

/** Puts each remark at its field and takes the others away. */
export function remark(remarks: ReadonlyMap<string, Remark>): void {
  for (const name of [...names, "idempotency-key"]) {
    const found = remarks.get(name === "idempotency-key" ? "Idempotency-Key" : name);
    const field = document.getElementById(name === "idempotency-key" ? name : `field-${name}`) as Input;
    const message = byId(`message-${name}`, HTMLElement);
    field.setAttribute("aria-invalid", String(found?.kind === "failing"));
    message.className = `message ${found?.kind ?? ""}`;
    fill(message, found === undefined ? null : rich(found.text));
  }
}
