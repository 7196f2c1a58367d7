/** Shows the result: the status, the findings, the lead as stored and the response. */

/// <reference lib="dom" />

import { type FieldName, fields, type Reason } from "../contract/fields.ts";
import { formatCents, formatCount, limits } from "../contract/limits.ts";
import { type IntakeResponse, placeholderValues, type PredictedResponse } from "./response.ts";
import { compare, type ComparedField, type Piece } from "./compare.ts";
import { byId, fill, make, withCode } from "./dom.ts";

/** A finding about a field or about the whole body. */
export interface Finding {
  readonly kind: "failing" | "flagged";
  /** The name of a field or header; empty for the whole body. */
  readonly field: string;
  /** The reason or flag. */
  readonly code: string;
  readonly text: string;
}

const statusLine = byId("status", HTMLElement);
const list = byId("findings", HTMLElement);
const table = byId("compare", HTMLElement);
const responsePane = byId("response", HTMLElement);

/** Explains why a field fails. `typed` is the field's value as typed; `null` if the field is missing. */
export function reasonText(field: string, reason: Reason, typed: string | null): string {
  if (reason === "out_of_range") {
    return `must be between ${formatCents(limits.costCentsMin)} and ${
      formatCents(limits.costCentsMax)
    }; if the lead was free, omit it`;
  }
  if (reason === "required") return typed === null ? "is missing" : "is blank";
  const lengthMax = field === "Idempotency-Key"
    ? limits.idempotencyKeyLengthMax
    : fields[field as FieldName].lengthMax;
  return `has more than ${formatCount(lengthMax)} characters`;
}

const pluralize = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

function statusMessage(
  { status, flags, fields }: IntakeResponse,
): { kind: string; title: string; text: string } {
  if (status === 202) {
    const text = flags.length === 0
      ? "The lead would be stored, without flags."
      : `The lead would be stored, with ${
        pluralize(flags.length, "flag")
      }. Flags are observations, not errors.`;
    return { kind: "good", title: "202 accepted", text };
  }
  if (status === 200) {
    return {
      kind: "good",
      title: "200 duplicate",
      text: "The response has the event_id of the first lead. No second lead is stored.",
    };
  }
  if (status === 422) {
    const count = Object.keys(fields).length;
    return {
      kind: "failing",
      title: "422 validation_failed",
      text: `${pluralize(count, "field")} to correct. Nothing is stored.`,
    };
  }
  const title = status === 413 ? "413 body_too_large" : "400 invalid_json";
  const text = status === 413
    ? `The body is over ${limits.bodyBytesMax / 1024} KiB. The service rejects it unread.`
    : "The body is not a valid lead. Nothing is stored.";
  return { kind: "failing", title, text };
}

/** Shows the result. Clicking a finding about a field calls `goTo`. */
export function show(
  body: string,
  response: IntakeResponse,
  { findings, goTo }: { findings: readonly Finding[]; goTo: (finding: Finding) => void },
): void {
  const { kind, title, text } = statusMessage(response);
  showStatus(kind, title, text);
  fill(list, ...findings.map((finding) => findingItem(finding, goTo)));
  const valid = response.validation?.kind === "valid" && response.status < 300 ? response.validation : null;
  if (valid === null) fill(table);
  else fill(table, make("h3", {}, "As it would be stored"), comparisonTable(compare(body, valid)));
  showResponse(response);
}

/** Shows the status line. Screen readers do not announce an unchanged status again. */
export function showStatus(kind: string, title: string, text: string): void {
  if (statusLine.textContent === `${title} ${text}`) return;
  statusLine.className = `status stuck ${kind}`;
  fill(statusLine, make("strong", {}, title), " ", text);
}

export function showResponse(response: PredictedResponse): void {
  fill(responsePane, ...responseNodes(response));
}

function findingItem(finding: Finding, goTo: (finding: Finding) => void): HTMLElement {
  const { kind, field, code, text } = finding;
  const content = [
    field === "" ? null : make("code", {}, field),
    field === "" ? null : " ",
    withCode(text),
    code === "" ? null : make("small", {}, ` ${code}`),
  ];
  if (field === "") return make("li", { class: kind }, ...content);
  const button = make("button", { type: "button", class: "plain" }, ...content);
  button.addEventListener("click", () => goTo(finding));
  return make("li", { class: kind }, button);
}

function comparisonTable(rows: readonly ComparedField[]): HTMLElement {
  const head = ["Field", "Typed", "Stored"].map((name) => make("th", { scope: "col" }, name));
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "The lead as typed and as stored" },
    make(
      "table",
      { class: "compare" },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows.map(comparisonRow)),
    ),
  );
}

function comparisonRow({ name, typed, stored, difference, note }: ComparedField): HTMLElement {
  const changed = typed !== stored;
  return make(
    "tr",
    { class: changed ? "changed" : "same" },
    make("th", { scope: "row" }, make("code", {}, name)),
    make("td", {}, typed === null ? dash() : pieces(difference.before, typed === stored ? "same" : "del")),
    make(
      "td",
      {},
      stored === null ? dash() : pieces(difference.after, typed === null ? "same" : "ins"),
      note === "" ? null : make("small", {}, ` ${note}`),
    ),
  );
}

const dash = () => make("span", { class: "none" }, "–");

/** Renders pieces with visible white space where they differ, because normalization removes mostly white space. */
function pieces(pieces: readonly Piece[], tag: "same" | "del" | "ins"): HTMLElement {
  const visible = (text: string) =>
    text.replaceAll(" ", "·").replaceAll("\t", "→").replaceAll("\r", "\\r").replaceAll("\n", "↵\n");
  return make(
    "span",
    { class: "value" },
    ...pieces.map(({ text, differs }) => differs && tag !== "same" ? make(tag, {}, visible(text)) : text),
  );
}

function responseNodes({ status, reason, headers, body }: PredictedResponse): (Node | string)[] {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`).join("");
  const text = `${lines}\n${JSON.stringify(body, null, 2)}`;
  const nodes: (Node | string)[] = [make("b", {}, `HTTP/1.1 ${status} ${reason}`), "\n"];
  let remaining = text;
  while (remaining !== "") {
    const at = Math.min(
      ...placeholderValues.map((value) => remaining.indexOf(value)).map((at) =>
        at < 0 ? remaining.length : at
      ),
    );
    const value = placeholderValues.find((value) => remaining.startsWith(value, at)) ?? "";
    nodes.push(remaining.slice(0, at));
    if (value !== "") {
      nodes.push(make("i", { title: "a placeholder; the service sends its own value" }, value));
    }
    remaining = remaining.slice(at + value.length);
  }
  return nodes;
}
