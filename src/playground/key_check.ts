/**
 * Checks a key with the only probe that production allows: `{}`. The key is read from its field, sent in one header and
 * stored nowhere.
 */

/// <reference lib="dom" />

import { keyFault, keySurface } from "../contract/api_key.ts";
import { keyCheck } from "../documents/guidance.ts";
import { limits } from "../contract/limits.ts";
import { byId, fill, make, withCode } from "./dom.ts";

const field = byId("key", HTMLInputElement);
const button = byId("probe", HTMLButtonElement);
const formatMessage = byId("key-shape", HTMLElement);
const result = byId("probe-result", HTMLElement);

/** Adds event listeners to the key's field and button. */
export function listen(): void {
  field.addEventListener("input", () => {
    fill(result);
    fill(formatMessage, withCode(keyFormatMessage(field.value.trim())));
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void probe();
  });
  button.addEventListener("click", () => void probe());
  // A page restored from the browser's cache must not contain the key.
  globalThis.addEventListener("pagehide", () => field.value = "");
}

/** Describes what is wrong with a malformed key, without a request; empty if the key is well-formed or missing. */
function keyFormatMessage(text: string): string {
  if (text === "" || keySurface(text) === "intake") return "";
  return `The service would return 401: ${keyFault(text, "intake")?.detail ?? "this is not a key"}.`;
}

async function probe(): Promise<void> {
  const key = field.value.trim();
  if (key === "" || button.disabled) {
    field.focus();
    return;
  }
  // A key contains only these characters, and `fetch` would reject some others.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return showResult("failing", "401 `unauthorized`", "A key cannot contain these characters.");
  }
  button.disabled = true;
  fill(result, "Checking …");
  try {
    const response = await fetch("/v1/intake", {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: "{}",
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(limits.requestTimeoutMs),
    });
    const { error = "", detail = null } = await response.json().catch(() => ({}));
    const id = response.headers.get("X-Request-Id");
    const listedResponse = keyCheck.find((row) => row.response.startsWith(String(response.status)));
    const meaning = detail ?? listedResponse?.meaning ?? "This response says nothing about the key.";
    showResult(response.status === 422 ? "good" : "failing", `${response.status} \`${error}\``, meaning, id);
  } catch {
    showResult("failing", "No response", "The service is unreachable or did not respond in time. Try again.");
  } finally {
    button.disabled = false;
  }
}

function showResult(kind: string, response: string, meaning: string, requestId: string | null = null): void {
  fill(
    result,
    make("p", { class: `status ${kind}` }, make("strong", {}, withCode(response)), " ", withCode(meaning)),
    requestId === null ? null : make("p", { class: "under" }, `Request ID: ${requestId}`),
  );
}
