/** The right-hand side of the page: the status, findings, the lead as stored, the answer, the command. */

/// <reference lib="dom" />

import { type FieldName, fields, flags, type Reason } from "../contract/fields.ts";
import { dollars, grouped, limits } from "../contract/limits.ts";
import { type Answer, madeUp } from "./answer.ts";
import { compare, type ComparedField, type Piece } from "./compare.ts";
import { byId, fill, make, rich } from "./dom.ts";

/** Something to be said about one field, or about the whole. */
export interface Finding {
  readonly kind: "failing" | "flagged";
  /** A field, a header, or `""`. */
  readonly field: string;
  /** The reason's or the flag's own name. */
  readonly code: string;
  readonly text: string;
}

const statusLine = byId("status", HTMLElement);
const list = byId("findings", HTMLElement);
const table = byId("compare", HTMLElement);
const response = byId("response", HTMLElement);

/** Why a field fails, in words; `typed` is its value, if it has one. */
export function reasonText(field: string, reason: Reason, typed: string | null): string {
  if (reason === "out_of_range") {
    return `must be within ${dollars(limits.costCentsMin)} and ${
      dollars(limits.costCentsMax)
    }; leave it out when there is no charge`;
  }
  if (reason === "required") return typed === null ? "is missing" : "is blank";
  const cap = field === "Idempotency-Key"
    ? limits.idempotencyKeyLengthMax
    : fields[field as FieldName].lengthMax;
  return `has more than ${grouped(cap)} characters`;
}

/** The flag's own sentence. */
export const flagText = (flag: keyof typeof flags): string => flags[flag];

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

function headline({ status, flags, fields }: Answer): { kind: string; title: string; text: string } {
  if (status === 202) {
    const text = flags.length === 0
      ? "This lead would be on disk, with nothing to remark."
      : `This lead would be on disk, with ${
        plural(flags.length, "flag")
      }. Flags are observations, not errors.`;
    return { kind: "good", title: "202 accepted", text };
  }
  if (status === 200) {
    return {
      kind: "good",
      title: "200 duplicate",
      text: "The first lead's event_id comes back. No second lead.",
    };
  }
  if (status === 422) {
    const count = Object.keys(fields).length;
    return {
      kind: "failing",
      title: "422 validation_failed",
      text: `${plural(count, "field")} to correct. Nothing is stored.`,
    };
  }
  const title = status === 413 ? "413 body_too_large" : "400 invalid_json";
  const text = status === 413
    ? `More than ${limits.bodyBytesMax / 1024} KiB. The service refuses it unread.`
    : "The body is no lead. Nothing is stored.";
  return { kind: "failing", title, text };
}

/** Shows all of it; `go` is called with the field of a finding that is clicked. */
export function show(
  body: string,
  answer: Answer,
  { findings, go }: { findings: readonly Finding[]; go: (finding: Finding) => void },
): void {
  const { kind, title, text } = headline(answer);
  // An unchanged status is not announced again.
  if (statusLine.textContent !== `${title} ${text}`) {
    statusLine.className = `status stuck ${kind}`;
    fill(statusLine, make("strong", {}, title), " ", text);
  }
  fill(list, ...findings.map((finding) => item(finding, go)));
  const valid = answer.validation?.kind === "valid" && answer.status < 300 ? answer.validation : null;
  if (valid === null) fill(table);
  else fill(table, make("h3", {}, "As it would be stored"), rowsTable(compare(body, valid)));
  fill(response, ...wire(answer));
}

function item(finding: Finding, go: (finding: Finding) => void): HTMLElement {
  const { kind, field, code, text } = finding;
  const content = [
    field === "" ? null : make("code", {}, field),
    field === "" ? null : " ",
    rich(text),
    code === "" ? null : make("small", {}, ` ${code}`),
  ];
  if (field === "") return make("li", { class: kind }, ...content);
  const button = make("button", { type: "button", class: "plain" }, ...content);
  button.addEventListener("click", () => go(finding));
  return make("li", { class: kind }, button);
}

function rowsTable(rows: readonly ComparedField[]): HTMLElement {
  const head = ["Field", "Typed", "Stored"].map((name) => make("th", { scope: "col" }, name));
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "The lead as typed and as stored" },
    make(
      "table",
      { class: "compare" },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows.map(tableRow)),
    ),
  );
}

function tableRow({ name, typed, stored, difference, note }: ComparedField): HTMLElement {
  const changed = typed !== stored;
  return make(
    "tr",
    { class: changed ? "changed" : "same" },
    make("th", { scope: "row" }, make("code", {}, name)),
    make("td", {}, typed === null ? none() : pieces(difference.before, typed === stored ? "same" : "del")),
    make(
      "td",
      {},
      stored === null ? none() : pieces(difference.after, typed === null ? "same" : "ins"),
      note === "" ? null : make("small", {}, ` ${note}`),
    ),
  );
}

const none = () => make("span", { class: "none" }, "–");

/** White space that differs is made visible; it is most of what is ever removed. */
function pieces(found: readonly Piece[], tag: "same" | "del" | "ins"): HTMLElement {
  const visible = (text: string) =>
    text.replaceAll(" ", "·").replaceAll("\t", "→").replaceAll("\r", "\\r").replaceAll("\n", "↵\n");
  return make(
    "span",
    { class: "value" },
    ...found.map(({ text, differs }) => differs && tag !== "same" ? make(tag, {}, visible(text)) : text),
  );
}

function wire({ status, reason, headers, body }: Answer): (Node | string)[] {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`).join("");
  const text = `${lines}\n${JSON.stringify(body, null, 2)}`;
  const found: (Node | string)[] = [make("b", {}, `HTTP/1.1 ${status} ${reason}`), "\n"];
  let rest = text;
  while (rest !== "") {
    const at = Math.min(...madeUp.map((value) => rest.indexOf(value)).map((at) => at < 0 ? rest.length : at));
    const value = madeUp.find((value) => rest.startsWith(value, at)) ?? "";
    found.push(rest.slice(0, at));
    if (value !== "") found.push(make("i", { title: "made up here; the service puts its own" }, value));
    rest = rest.slice(at + value.length);
  }
  return found;
}
