/**
 * The idempotency keys of a page's forms. This module is browser compatible.
 *
 * They are kept in `sessionStorage`: a reload finds them again, and another tab has its own. What the visitor typed is
 * kept nowhere, only a digest of it.
 *
 * @module
 */

/** A form's key. */
interface Kept {
  /** A digest of the form's name. */
  readonly form: string;
  readonly key: string;
  /** A digest of the content that was acknowledged under the key; `null` as long as none was. */
  readonly acknowledged: string | null;
}

const item = "leads-js";
/** The form that was used longest ago loses its key first. */
const formsMax = 20;
/** In place of the storage where a browser has none, or keeps it closed. */
let memory: readonly Kept[] = [];

/**
 * The key to send a form's content with. It stays the same until the content is acknowledged, whatever is corrected
 * on the way, and after that for as long as the content does: a late second click is then a duplicate, and a changed
 * form another lead.
 */
export function keyFor(form: string, content: string): string {
  const name = digest(form);
  const forms = load();
  const kept = forms.find((other) => other.form === name);
  const same = kept !== undefined &&
    (kept.acknowledged === null || kept.acknowledged === digest(kept.key + content));
  const current = same ? kept : { form: name, key: makeKey(), acknowledged: null };
  // Kept before anything is sent, for a reload may come at any time.
  store([...forms.filter((other) => other.form !== name), current].slice(-formsMax));
  return current.key;
}

/** Notes that a form's content was acknowledged under a key. */
export function acknowledge(form: string, key: string, content: string): void {
  const name = digest(form);
  store(
    load().map((kept) =>
      kept.form === name && kept.key === key ? { ...kept, acknowledged: digest(key + content) } : kept
    ),
  );
}

function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function load(): readonly Kept[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(item) ?? "null");
    // Anything on the page may have written there.
    if (Array.isArray(stored)) return stored.filter(isKept).slice(-formsMax);
  } catch {
    // Closed, or not ours.
  }
  return memory;
}

function isKept(value: Partial<Kept> | null): value is Kept {
  return typeof value?.form === "string" && typeof value.key === "string" &&
    /^[0-9a-f]{32}$/.test(value.key) &&
    (value.acknowledged === null || typeof value.acknowledged === "string");
}

function store(forms: readonly Kept[]): void {
  memory = forms;
  try {
    sessionStorage.setItem(item, JSON.stringify(forms));
  } catch {
    // Closed or full: the memory has them until the page is left.
  }
}

/** 64 bits, to tell one text from the next. */
function digest(text: string): string {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 0x01000193) ^ (low >>> 13);
    low = Math.imul(low ^ code, 0x5bd1e995) ^ (high >>> 15);
  }
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
