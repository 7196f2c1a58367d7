/**
 * The playground's script: takes what is typed, asks the validator, and shows the answer. It posts nothing but
 * the key check.
 */

/// <reference lib="dom" />

import { type Example, failureExamples, flagExamples, leadExamples } from "../documents/examples.ts";
import { fieldNames } from "../contract/fields.ts";
import { grouped, limits } from "../contract/limits.ts";
import { curlPost } from "../documents/snippets.ts";
import { addCopyButtons } from "../documents/copy_buttons.ts";
import { objectFault, wrongTypes } from "../lead/body_fault.ts";
import { parseObject } from "../lead/json.ts";
import type { Areas } from "../lead/lead.ts";
import { type Answer, answerTo, bytesOf } from "./answer.ts";
import { byId, fill } from "./dom.ts";
import { indented, placeOf, places } from "./edit_json.ts";
import { editor, paint, select, type Stretch, stretchOf } from "./editor.ts";
import * as form from "./form.ts";
import * as keyCheck from "./key_check.ts";
import { type Finding, flagText, reasonText, show } from "./result.ts";
import { areasOf, follow } from "./vocabulary.ts";

const examples: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };

// A command line takes no NUL, and a long one is better in a file.
const commandBytesMax = 8_000;

const example = byId("example", HTMLSelectElement);
const idempotencyKey = byId("idempotency-key", HTMLInputElement);
const repeat = byId("repeat", HTMLInputElement);
const notice = byId("notice", HTMLElement);
const views = [...document.querySelectorAll<HTMLInputElement>('input[name="view"]')];

/** `null` until the vocabulary has come, and when it cannot be had. */
let areas: Areas | null = null;
let isDue = false;

/** What the page makes of a body; the tests ask this of the very script that the page runs. */
export function answerOf(body: string, terms: readonly string[]): Answer {
  return answerTo({ body, idempotencyKey: "", isRepeat: false }, areasOf(terms));
}

function findings(body: string, answer: Answer): Finding[] {
  if (answer.status === 413) return [];
  if (answer.status === 400) {
    const envelope = parseObject(withoutMark(body), limits.jsonDepthMax);
    const single = envelope === null ? [] : wrongTypes(envelope);
    return single.length === 0
      ? detailOf(answer)
      : single.map(({ name, text }) => ({ kind: "failing", field: name, code: "", text }));
  }
  const sent = places(withoutMark(body)) ?? [];
  const failing = Object.entries(answer.fields).map(([field, reason]): Finding => {
    const typed = placeOf(sent, field)?.valueText ?? null;
    return { kind: "failing", field, code: reason, text: reasonText(field, reason, typed) };
  });
  const flagged = answer.flags.map((flag): Finding => ({
    kind: "flagged",
    // A flag begins with the name of its field, if it has one.
    field: fieldNames.find((name) => flag.startsWith(`${name}_`)) ?? "",
    code: flag,
    text: flagText(flag),
  }));
  return [...failing, ...detailOf(answer), ...flagged];
}

/** What the answer itself says in words; caps and ranges stand at their fields already. */
function detailOf({ body: { detail }, fields }: Answer): Finding[] {
  const isSaid = Object.keys(fields).length > 0 && !Object.values(fields).includes("required");
  return typeof detail === "string" && !isSaid
    ? [{ kind: "failing", field: "", code: "", text: detail }]
    : [];
}

const withoutMark = (body: string) => body.replace(/^\ufeff/, "");

/** Where the findings stand in the text; what is kept under `extra` is no single member. */
function stretches(body: string, found: readonly Finding[]): Stretch[] {
  const at = body.startsWith("\ufeff") ? 1 : 0;
  const sent = places(body.slice(at));
  if (sent === null) {
    const { at: broken } = objectFault(body.slice(at), "lead");
    return broken === null ? [] : [{ start: at + broken, end: at + broken + 1, kind: "failing" }];
  }
  return found.flatMap(({ field, kind }) => {
    const place = placeOf(sent, field);
    if (place === undefined) return [];
    const { start, end } = stretchOf(place, kind);
    return [{ start: start + at, end: end + at, kind }];
  });
}

function go(finding: Finding): void {
  if (finding.field === "Idempotency-Key") return idempotencyKey.focus();
  const field = document.getElementById(`field-${finding.field}`);
  if (isForm() && field !== null) return field.focus();
  const [stretch] = stretches(editor.value, [finding]);
  // A missing member has no place yet: it belongs behind the last one.
  const end = editor.value.lastIndexOf("}");
  if (stretch !== undefined) select(stretch.start, stretch.end);
  else select(Math.max(0, end), Math.max(0, end));
}

const isForm = () => views.some(({ checked, value }) => checked && value === "form");

/** At most once a frame, however fast somebody types. */
function changed(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    update();
  });
}

function update(): void {
  const body = editor.value;
  const answer = answerTo(
    { body, idempotencyKey: idempotencyKey.value, isRepeat: repeat.checked },
    areas ?? areasOf([]),
  );
  const found = findings(body, answer);
  show(body, answer, { findings: found, go });
  paint(body, answer.status === 413 ? [] : stretches(body, found));
  byId("size", HTMLElement).textContent = `${grouped(bytesOf(body))} of ${
    grouped(limits.bodyBytesMax)
  } bytes`;
  byId("curl", HTMLElement).textContent = command(body);
  const remarks = new Map(found.map(({ field, kind, text }) => [field, { kind, text }]));
  form.remark(remarks);
  if (isForm()) form.show(body);
}

function command(body: string): string {
  const baseUrl = document.documentElement.dataset.baseUrl ?? "";
  const key = idempotencyKey.value.trim();
  if (body.includes("\0") || bytesOf(body) > commandBytesMax) {
    const line = curlPost(baseUrl, { body: "", idempotencyKey: key });
    return line.replace(/--data-raw ''$/, "--data-binary @lead.json");
  }
  return curlPost(baseUrl, { body, idempotencyKey: key });
}

function load(name: string): void {
  const chosen = examples[name];
  if (chosen === undefined) return;
  editor.value = chosen.body;
  idempotencyKey.value = chosen.idempotencyKey ?? "acme:lead:4711";
  repeat.checked = false;
  example.value = name;
  // The editor's own undo would lead into another lead.
  form.show(chosen.body);
  update();
}

function setView(): void {
  byId("json", HTMLElement).hidden = isForm();
  byId("form", HTMLElement).hidden = !isForm();
  update();
}

function tidy(): void {
  const at = editor.value.startsWith("\ufeff") ? 1 : 0;
  editor.value = editor.value.slice(0, at) + indented(editor.value.slice(at));
  update();
}

function start(): void {
  const typed = () => {
    example.value = "";
    changed();
  };
  editor.addEventListener("input", typed);
  idempotencyKey.addEventListener("input", changed);
  repeat.addEventListener("change", changed);
  example.addEventListener("change", () => load(example.value));
  for (const view of views) view.addEventListener("change", setView);
  byId("tidy", HTMLButtonElement).addEventListener("click", tidy);
  form.listen(() => editor.value, (text) => {
    editor.value = text;
    typed();
  });
  document.addEventListener("click", (event) => {
    const name = (event.target as Element).closest<HTMLElement>("[data-example]")?.dataset.example;
    if (name === undefined) return;
    load(name);
    byId("playground", HTMLElement).scrollIntoView();
    (isForm() ? byId("field-first_name", HTMLInputElement) : editor).focus({ preventScroll: true });
  });
  addCopyButtons();
  keyCheck.listen();
  follow((terms) => {
    areas = terms ?? areas;
    notice.hidden = terms !== null;
    fill(
      notice,
      terms === null ? "The vocabulary cannot be read just now: project_area is taken as unknown." : null,
    );
    update();
  });
  update();
}

for (const failure of ["error", "unhandledrejection"]) {
  globalThis.addEventListener(failure, () => {
    notice.hidden = false;
    fill(notice, "Something in this page has failed. Reload it; what you typed is not stored anywhere.");
  });
}

start();
