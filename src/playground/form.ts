/** Edits the lead as a form, which changes single members of the JSON text and leaves the rest unchanged. */

/// <reference lib="dom" />

import { fieldNames } from "../contract/fields.ts";
import { byId, fill, withCode } from "./dom.ts";
import { findMember, locateMembers, setMember } from "./edit_json.ts";

const fieldInputNames = [...fieldNames, "cost"];
const form = byId("form", HTMLElement);
const invalidNotice = byId("form-broken", HTMLElement);

type Input = HTMLInputElement | HTMLTextAreaElement;

function input(name: string): Input {
  return document.getElementById(`field-${name}`) as Input;
}

/** Converts a field's text to JSON text; returns `null` for an empty field. An invalid `cost` stays a string, so that the response explains the fault. */
function valueText(name: string, typed: string): string | null {
  if (typed === "") return null;
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(typed.trim());
  return name === "cost" && isNumber ? typed.trim() : JSON.stringify(typed);
}

/** Calls `write` with the new JSON text when a field is edited. */
export function listen(read: () => string, write: (text: string) => void): void {
  form.addEventListener("input", (event) => {
    const name = (event.target as HTMLElement).id.replace("field-", "");
    if (!fieldInputNames.includes(name)) return;
    const text = read().trim() === "" ? "{}" : read();
    write(setMember(text, name, valueText(name, input(name).value)));
  });
}

/** Shows the members of a JSON text in the form. Without a valid object, the form is empty and disabled. */
export function show(text: string): void {
  const members = text.trim() === "" ? [] : locateMembers(text.replace(/^\ufeff/, ""));
  invalidNotice.hidden = members !== null;
  for (const name of fieldInputNames) {
    const field = input(name);
    field.disabled = members === null;
    const memberText = members === null ? undefined : findMember(members, name)?.valueText;
    const value = fieldValue(memberText);
    // Setting a value moves the caret, even if the value does not change.
    if (field !== document.activeElement && field.value !== value) field.value = value;
  }
}

function fieldValue(memberText: string | undefined): string {
  if (memberText === undefined || memberText === "null") return "";
  return memberText.startsWith('"') ? String(JSON.parse(memberText)) : memberText;
}

/** Shows each message at its field, and clears the messages of the other fields. */
export function showMessages(
  messages: ReadonlyMap<string, { readonly kind: "failing" | "flagged"; readonly text: string }>,
): void {
  for (const name of [...fieldInputNames, "idempotency-key"]) {
    const fieldMessage = messages.get(name === "idempotency-key" ? "Idempotency-Key" : name);
    const field = document.getElementById(name === "idempotency-key" ? name : `field-${name}`) as Input;
    const message = byId(`message-${name}`, HTMLElement);
    field.setAttribute("aria-invalid", String(fieldMessage?.kind === "failing"));
    message.className = `message ${fieldMessage?.kind ?? ""}`;
    fill(message, fieldMessage === undefined ? null : withCode(fieldMessage.text));
  }
}
