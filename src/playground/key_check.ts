/**
 * Checks a key with the only probe that production allows: `{}`. The key is read from its field, sent in one header and
 * stored nowhere.
 */

/// <reference lib="dom" />

import { keyFault, type KeySurface, keySurface } from "../contract/api_key.ts";
import { limits } from "../contract/limits.ts";
import { byId, fill, make, withCode } from "./dom.ts";

const field = byId("key", HTMLInputElement);
const button = byId("probe", HTMLButtonElement);
const formatMessage = byId("key-shape", HTMLElement);
const result = byId("probe-result", HTMLElement);

interface KeyCheck {
  readonly surface: KeySurface;
  /** Returns the path to post to; `null` if it is not known yet. */
  readonly path: () => string | null;
  readonly meanings: readonly { readonly response: string; readonly meaning: string }[];
  /** The code of the response that confirms the key. */
  readonly goodCode: string;
  /** Receives the `fields` of that response. */
  readonly onGood?: (fields: Readonly<Record<string, unknown>>) => void;
}

/** Adds event listeners to the key's field and button. */
export function listen(check: KeyCheck): void {
  field.addEventListener("input", () => {
    fill(result);
    fill(formatMessage, withCode(keyFormatMessage(field.value.trim(), check.surface)));
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void probe(check);
  });
  button.addEventListener("click", () => void probe(check));
  // A page restored from the browser's cache must not contain the key.
  globalThis.addEventListener("pagehide", () => field.value = "");
}

/** Describes what is wrong with a malformed key, without a request; empty if the key is well-formed or missing. */
function keyFormatMessage(text: string, surface: KeySurface): string {
  if (text === "" || keySurface(text) === surface) return "";
  return `The service would return 401: ${keyFault(text, surface)?.detail ?? "this is not a key"}.`;
}

/** Sends a request with a key, which only the service itself receives. */
export function fetchWithKey(path: string, key: string, options: RequestInit = {}): Promise<Response> {
  return fetch(path, {
    ...options,
    headers: { "X-API-Key": key, ...options.headers },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    signal: AbortSignal.timeout(limits.requestTimeoutMs),
  });
}

async function probe({ path: getPath, meanings, goodCode, onGood }: KeyCheck): Promise<void> {
  const path = getPath();
  if (path === null) return;
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
    const response = await fetchWithKey(path, key, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    const { error = "", detail = null, fields = {} } = await response.json().catch(() => ({}));
    const id = response.headers.get("X-Request-Id");
    const listedResponse = meanings.find((row) => row.response.startsWith(String(response.status)));
    const meaning = detail ?? listedResponse?.meaning ?? "This response says nothing about the key.";
    if (error === goodCode) onGood?.(fields);
    showResult(error === goodCode ? "good" : "failing", `${response.status} \`${error}\``, meaning, id);
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
