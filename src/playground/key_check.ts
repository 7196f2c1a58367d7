/**
 * The one probe that production allows: `{}` with the caller's key. The key is read from its field when the
 * button is pressed, goes into one header, and is kept nowhere.
 */

/// <reference lib="dom" />

import { keyFault, keySurface } from "../contract/api_key.ts";
import { keyCheck } from "../documents/guidance.ts";
import { limits } from "../contract/limits.ts";
import { byId, fill, make, rich } from "./dom.ts";

/** The whole body, always. */
const emptyBody = "{}";

const field = byId("key", HTMLInputElement);
const button = byId("probe", HTMLButtonElement);
const shape = byId("key-shape", HTMLElement);
const result = byId("probe-result", HTMLElement);

/** Lets the form work. */
export function listen(): void {
  field.addEventListener("input", () => {
    fill(result);
    fill(shape, rich(shapeOf(field.value.trim())));
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void probe();
  });
  button.addEventListener("click", () => void probe());
  // A page that comes back from the browser's cache has forgotten the key.
  globalThis.addEventListener("pagehide", () => field.value = "");
}

/** What can be said of a key without asking. */
function shapeOf(text: string): string {
  if (text === "" || keySurface(text) === "intake") return "";
  return `This would be answered with 401: ${keyFault(text, "intake")?.detail ?? "it is no key"}.`;
}

async function probe(): Promise<void> {
  const key = field.value.trim();
  if (key === "" || button.disabled) {
    field.focus();
    return;
  }
  // Only ASCII can be sent in a header.
  if (!/^[\x21-\x7e]+$/.test(key)) return say("failing", "401 `unauthorized`", "No key has such characters.");
  button.disabled = true;
  fill(result, "Asking …");
  try {
    const answer = await fetch("/v1/intake", {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: emptyBody,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(limits.requestTimeoutMs),
    });
    const { error = "", detail = null } = await answer.json().catch(() => ({}));
    const id = answer.headers.get("X-Request-Id");
    const known = keyCheck.find((row) => row.answer.startsWith(String(answer.status)));
    const meaning = detail ?? known?.meaning ?? "This answer says nothing about the key.";
    say(answer.status === 422 ? "good" : "failing", `${answer.status} \`${error}\``, meaning, id);
  } catch {
    say("failing", "No answer", "The service could not be reached, or did not answer in time. Try again.");
  } finally {
    button.disabled = false;
  }
}

function say(kind: string, answer: string, meaning: string, requestId: string | null = null): void {
  fill(
    result,
    make("p", { class: `status ${kind}` }, make("strong", {}, rich(answer)), " ", rich(meaning)),
    requestId === null ? null : make("p", { class: "under" }, `Request id: ${requestId}`),
  );
}
