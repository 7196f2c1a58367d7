/** The script of the playground for forms. It posts only the key check, and reads only the weights of the spam score. */

/// <reference lib="dom" />

import { isSandboxFormsKey, keySurface } from "../contract/api_key.ts";
import { formPlaceholders, spamModelPath } from "../contract/forms.ts";
import { placeholders } from "../documents/examples.ts";
import { formKeyCheck } from "../documents/guidance.ts";
import { addCopyButtons } from "../documents/copy_buttons.ts";
import { readAttribution } from "../forms/attribution.ts";
import { isCompared, type Posted, submissionText } from "../forms/fields.ts";
import { explainScore } from "../forms/spam/explain.ts";
import { spamReasons, verdictReasons } from "../forms/spam/reasons.ts";
import { defaultThreshold, type Scored, scoreSubmission } from "../forms/spam/score.ts";
import { model } from "../forms/spam/weights.ts";
import { toE164 } from "../lead/phone.ts";
import { findSender } from "../lead/sender.ts";
import { eventNotification } from "../notification/event.ts";
import { renderMail } from "../notification/mail.ts";
import { byId, type Child, fill, make, withCode } from "./dom.ts";
import { locateMembers } from "./edit_json.ts";
import { editor, formatText, highlight, oncePerFrame, showSize, watchFailures } from "./editor.ts";
import { predictFormResponse } from "./forms_response.ts";
import * as keyCheck from "./key_check.ts";
import { showResponse, showStatus } from "./result.ts";

const example = byId("example", HTMLSelectElement);
const required = byId("required", HTMLInputElement);
const threshold = byId("threshold", HTMLInputElement);
const blocked = byId("blocked", HTMLInputElement);
const tenant = byId("tenant", HTMLInputElement);
const formKey = byId("form-key", HTMLInputElement);
const key = byId("key", HTMLInputElement);
const mailFrame = byId("mail-html", HTMLIFrameElement);

/** Whether the weights of the spam score have been loaded. */
let canScore = false;
let mail = { html: "", url: "" };

const listOf = (input: HTMLInputElement) =>
  input.value.split(",").map((text) => text.trim()).filter((text) => text !== "");

const show = (id: string, ...nodes: Child[]) => fill(byId(id, HTMLElement), ...nodes);

function update(): void {
  const response = predictFormResponse(editor.value, listOf(required));
  const { checked, status, body: { error, detail } } = response;
  const missing = checked?.kind === "missing_required" ? Object.keys(checked.fields) : [];
  const faults = [...missing.map((name) => `\`${name}\` is required`), ...(detail ? [String(detail)] : [])];
  show("findings", ...faults.map((text) => make("li", { class: "failing" }, withCode(text))));
  const members = (locateMembers(editor.value) ?? []).filter(({ name }) => missing.includes(name));
  highlight(
    editor.value,
    members.map(({ nameStart, valueEnd }) => ({ start: nameStart, end: valueEnd, kind: "failing" })),
  );
  showSize();
  showResponse(response);
  byId("mail", HTMLElement).hidden = checked?.kind !== "valid";
  if (checked?.kind === "valid") return showAccepted(checked.posted);
  show("score");
  show("compare");
  showStatus("failing", `${status} ${error}`, "Nothing is stored.");
}

function showAccepted(posted: Posted): void {
  const nowMs = Date.now();
  const entered = Number.parseInt(threshold.value, 10);
  const heldFrom = Number.isNaN(entered) ? defaultThreshold : entered;
  const scored = canScore
    ? scoreSubmission(posted.fields, { blocked: listOf(blocked), receivedAtMs: nowMs })
    : null;
  const spamSign = posted.isHoneypotFilled
    ? "the honeypot is filled in"
    : scored !== null && scored.score >= heldFrom
    ? "see the score"
    : null;
  const delivery = canScore ? "and delivered" : "and delivered unless its spam score is too high";
  const outcome = spamSign === null ? delivery : `but held as spam: ${spamSign}`;
  showStatus(spamSign === null ? "good" : "held", "202 accepted", `It is stored ${outcome}.`);
  showScore(posted, nowMs, { scored, heldFrom });
  showRead(posted);
  showMail(posted, nowMs, spamSign !== null);
}

function showScore(
  { isHoneypotFilled, fields }: Posted,
  nowMs: number,
  { scored, heldFrom }: { readonly scored: Scored | null; readonly heldFrom: number },
): void {
  const reasons = [...(isHoneypotFilled ? ["honeypot_filled" as const] : []), ...scored?.reasons ?? []];
  const shares = scored?.reasons.length ? explainScore(fields, nowMs, new Map()) : [];
  const evidence = shares.map((share) =>
    `${
      "words" in share ? `“${share.words}”` : spamReasons[share.reason].meaning.slice(0, -1)
    } ${share.percent}%`
  );
  const score = scored === null
    ? ["Not computed: ", make("a", { href: "#key-check" }, "enter the key of a sandbox"), "."]
    : [make("strong", {}, String(scored.score)), ` of 100. Submissions are held from ${heldFrom}.`];
  const items = reasons.map((name) =>
    make("li", {}, verdictReasons[name].meaning, make("small", {}, ` ${name}`))
  );
  show(
    "score",
    make("h3", {}, "Spam score"),
    make("p", {}, ...score),
    make("ul", { class: "findings" }, ...items),
    evidence.length > 0 && make("p", { class: "under" }, `Main evidence for spam: ${evidence.join(", ")}`),
  );
}

/** Shows what the service reads from the fields. */
function showRead(posted: Posted): void {
  const { name, country, take } = findSender(
    posted.fields,
    ({ value, valueText }) => typeof value === "string" ? value : typeof value === "number" ? valueText : "",
  );
  const phone = take("phone");
  const uncompared = [...posted.fields.keys()].filter((name) => !isCompared(name));
  const rows = Object.entries({
    "Name": name,
    "Phone": toE164(phone, country) ?? phone,
    "Email": take("email"),
    "Message": take("project_details"),
    ...readAttribution(posted),
    "Not compared with earlier posts": uncompared.join(", "),
  }).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", { class: "value" }, value || "–"))
  );
  show("compare", make("h3", {}, "As the service reads it"), make("dl", { class: "meanings" }, ...rows));
}

function showMail(posted: Posted, nowMs: number, isHeld: boolean): void {
  const { formKey: formKeyExample, tenant: tenantExample } = formPlaceholders;
  const { subject, html, text, replyTo } = renderMail(eventNotification({
    event: {
      eventId: placeholders.eventId,
      kind: "form",
      source: "",
      campaign: "",
      receivedAt: new Date(nowMs).toISOString(),
      content: submissionText(posted),
      extra: JSON.stringify({
        form_key: formKey.value.trim() || formKeyExample,
        attribution: readAttribution(posted),
      }),
      flags: [],
    },
    tenant: {
      name: tenant.value.trim() || tenantExample,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    isTest: false,
    earlier: { posts: [], more: "" },
  }, { isQuotable: true }));
  const reply = `Reply to: ${replyTo ?? "nobody"}${
    isHeld ? ". Sent only if the submission is released" : ""
  }`;
  show("mail-about", make("b", {}, subject), make("br"), make("small", {}, reply));
  byId("mail-text", HTMLElement).textContent = text;
  if (html === mail.html) return;
  URL.revokeObjectURL(mail.url);
  mail = { html, url: URL.createObjectURL(new Blob([html], { type: "text/html" })) };
  // Not `src`, which would add an entry to the browser's history for each change.
  mailFrame.contentWindow?.location.replace(mail.url);
}

/** Loads the weights if a sandbox's key is in its field. */
async function loadModel(): Promise<void> {
  const text = key.value.trim();
  if (canScore || keySurface(text) !== "forms") return;
  const say = (message: string) => show("model-status", withCode(message));
  if (!isSandboxFormsKey(text)) {
    return say("Only the key of a sandbox, `form_test_…`, can load the weights of the spam score.");
  }
  try {
    const response = await keyCheck.fetchWithKey(spamModelPath, text);
    if (!response.ok) return say(`The weights were not loaded: ${response.status}. Check the key.`);
    Object.assign(model, await response.json());
    canScore = true;
    say("The weights of the spam score are loaded.");
    update();
  } catch {
    say("The weights were not loaded: no response. Enter the key again.");
  }
}

/** Returns the path of the form; focuses the field that is missing. */
function formPath(): string | null {
  const empty = [tenant, formKey].find(({ value }) => value.trim() === "");
  empty?.focus();
  if (empty !== undefined) return null;
  return `/v1/forms/${encodeURIComponent(tenant.value.trim())}/${encodeURIComponent(formKey.value.trim())}`;
}

function start(): void {
  const scheduleUpdate = oncePerFrame(update);
  editor.addEventListener("input", () => {
    example.value = "";
    scheduleUpdate();
  });
  for (const input of [required, threshold, blocked, tenant, formKey]) {
    input.addEventListener("input", scheduleUpdate);
  }
  example.addEventListener("change", () => {
    editor.value = example.value;
    update();
  });
  byId("tidy", HTMLButtonElement).addEventListener("click", () => {
    formatText();
    update();
  });
  keyCheck.listen({
    surface: "forms",
    path: formPath,
    meanings: formKeyCheck,
    goodCode: "missing_required",
    onGood: (fields) => {
      required.value = Object.keys(fields).join(", ");
      update();
    },
  });
  key.addEventListener("input", () => void loadModel());
  addCopyButtons();
  update();
}

watchFailures();
start();
