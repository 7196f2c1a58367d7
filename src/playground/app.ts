/** The playground's script: validates the lead as you type and predicts the response. It posts only the key check. */

/// <reference lib="dom" />

import { type Example, failureExamples, flagExamples, leadExamples } from "../documents/examples.ts";
import { fieldNames, flags } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { curlPost } from "../documents/snippets.ts";
import { keyCheck as meanings } from "../documents/guidance.ts";
import { addCopyButtons } from "../documents/copy_buttons.ts";
import { objectFault, wrongTypes } from "../lead/body_fault.ts";
import { parseObject } from "../lead/json.ts";
import type { Areas } from "../lead/lead.ts";
import { byteLength, type IntakeResponse, predictResponse } from "./response.ts";
import { byId, fill } from "./dom.ts";
import { findMember, locateMembers } from "./edit_json.ts";
import {
  editor,
  formatText,
  highlight,
  oncePerFrame,
  type Range,
  select,
  showSize,
  watchFailures,
} from "./editor.ts";
import * as form from "./form.ts";
import * as keyCheck from "./key_check.ts";
import { type Finding, reasonText, show } from "./result.ts";
import { toAreas, watchVocabulary } from "./vocabulary.ts";

const examples: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };

// Longer bodies are read from a file, because a command line has a limited length.
const commandBytesMax = 8_000;

const example = byId("example", HTMLSelectElement);
const idempotencyKey = byId("idempotency-key", HTMLInputElement);
const repeat = byId("repeat", HTMLInputElement);
const notice = byId("notice", HTMLElement);
const views = [...document.querySelectorAll<HTMLInputElement>('input[name="view"]')];

/** The vocabulary; `null` until it has been loaded. */
let areas: Areas | null = null;

/** Returns the predicted response to a body, for the tests of the bundled script. */
export function responseTo(body: string, terms: readonly string[]): IntakeResponse {
  return predictResponse({ body, idempotencyKey: "", isRepeat: false }, toAreas(terms));
}

function findingsFor(body: string, response: IntakeResponse): Finding[] {
  if (response.status === 413) return [];
  if (response.status === 400) {
    const envelope = parseObject(withoutBom(body), limits.jsonDepthMax);
    const typeFaults = envelope === null ? [] : wrongTypes(envelope);
    return typeFaults.length === 0
      ? detailOf(response)
      : typeFaults.map(({ name, text }) => ({ kind: "failing", field: name, code: "", text }));
  }
  const sent = locateMembers(withoutBom(body)) ?? [];
  const failing = Object.entries(response.fields).map(([field, reason]): Finding => {
    const typed = findMember(sent, field)?.valueText ?? null;
    return { kind: "failing", field, code: reason, text: reasonText(field, reason, typed) };
  });
  const flagged = response.flags.map((flag): Finding => ({
    kind: "flagged",
    // A flag starts with the name of its field, if it has one.
    field: fieldNames.find((name) => flag.startsWith(`${name}_`)) ?? "",
    code: flag,
    text: flags[flag],
  }));
  return [...failing, ...detailOf(response), ...flagged];
}

/** Returns the response's `detail`, unless it only repeats the findings about length and range. */
function detailOf({ body: { detail }, fields }: IntakeResponse): Finding[] {
  const isRedundant = Object.keys(fields).length > 0 && !Object.values(fields).includes("required");
  return typeof detail === "string" && !isRedundant
    ? [{ kind: "failing", field: "", code: "", text: detail }]
    : [];
}

const withoutBom = (body: string) => body.replace(/^\ufeff/, "");

/** Locates the findings in the text, or the first fault of a body that is not a JSON object. Findings that are not about a sent member are omitted. */
function findingRanges(body: string, findings: readonly Finding[]): Range[] {
  const bomLength = body.startsWith("\ufeff") ? 1 : 0;
  const sent = locateMembers(body.slice(bomLength));
  if (sent === null) {
    const { at: faultAt } = objectFault(body.slice(bomLength), "lead");
    return faultAt === null
      ? []
      : [{ start: bomLength + faultAt, end: bomLength + faultAt + 1, kind: "failing" }];
  }
  return findings.flatMap(({ field, kind }) => {
    const place = findMember(sent, field);
    return place === undefined
      ? []
      : [{ start: bomLength + place.nameStart, end: bomLength + place.valueEnd, kind }];
  });
}

function focusFinding(finding: Finding): void {
  if (finding.field === "Idempotency-Key") return idempotencyKey.focus();
  const field = document.getElementById(`field-${finding.field}`);
  if (isFormView() && field !== null) return field.focus();
  const [range] = findingRanges(editor.value, [finding]);
  // A missing member belongs after the last member.
  const end = editor.value.lastIndexOf("}");
  if (range !== undefined) select(range.start, range.end);
  else select(Math.max(0, end), Math.max(0, end));
}

const isFormView = () => views.some(({ checked, value }) => checked && value === "form");

const scheduleUpdate = oncePerFrame(update);

function update(): void {
  const body = editor.value;
  const response = predictResponse(
    { body, idempotencyKey: idempotencyKey.value, isRepeat: repeat.checked },
    areas ?? toAreas([]),
  );
  const findings = findingsFor(body, response);
  show(body, response, { findings, goTo: focusFinding });
  highlight(body, response.status === 413 ? [] : findingRanges(body, findings));
  showSize();
  byId("curl", HTMLElement).textContent = curlCommand(body);
  form.showMessages(new Map(findings.map(({ field, kind, text }) => [field, { kind, text }])));
  if (isFormView()) form.show(body);
}

function curlCommand(body: string): string {
  const url = `${document.documentElement.dataset.baseUrl}/v1/intake`;
  const key = idempotencyKey.value.trim();
  if (body.includes("\0") || byteLength(body) > commandBytesMax) {
    const line = curlPost(url, { body: "", idempotencyKey: key });
    return line.replace(/--data-raw ''$/, "--data-binary @lead.json");
  }
  return curlPost(url, { body, idempotencyKey: key });
}

function loadExample(name: string): void {
  const selected = examples[name];
  if (selected === undefined) return;
  editor.value = selected.body;
  idempotencyKey.value = selected.idempotencyKey ?? "acme:lead:4711";
  repeat.checked = false;
  example.value = name;
  form.show(selected.body);
  update();
}

function applyView(): void {
  byId("json", HTMLElement).hidden = isFormView();
  byId("form", HTMLElement).hidden = !isFormView();
  update();
}

function formatBody(): void {
  formatText();
  update();
}

function start(): void {
  const onInput = () => {
    example.value = "";
    scheduleUpdate();
  };
  editor.addEventListener("input", onInput);
  idempotencyKey.addEventListener("input", scheduleUpdate);
  repeat.addEventListener("change", scheduleUpdate);
  example.addEventListener("change", () => loadExample(example.value));
  for (const view of views) view.addEventListener("change", applyView);
  byId("tidy", HTMLButtonElement).addEventListener("click", formatBody);
  form.listen(() => editor.value, (text) => {
    editor.value = text;
    onInput();
  });
  document.addEventListener("click", (event) => {
    const name = (event.target as Element).closest<HTMLElement>("[data-example]")?.dataset.example;
    if (name === undefined) return;
    loadExample(name);
    byId("playground", HTMLElement).scrollIntoView();
    (isFormView() ? byId("field-first_name", HTMLInputElement) : editor).focus({ preventScroll: true });
  });
  addCopyButtons();
  keyCheck.listen({
    surface: "intake",
    path: () => "/v1/intake",
    meanings,
    goodCode: "validation_failed",
  });
  watchVocabulary((terms) => {
    areas = terms ?? areas;
    notice.hidden = terms !== null;
    fill(
      notice,
      terms === null
        ? "The vocabulary cannot be loaded at the moment, so areas may be shown as unknown."
        : null,
    );
    update();
  });
  update();
}

watchFailures();
start();
