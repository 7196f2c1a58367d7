/**
 * Sends a page's lead to the relay. This module is browser compatible.
 *
 * It knows no key: the relay adds it.
 *
 * @module
 */

import { backoffMs } from "./core/waits.ts";
import { limits } from "./core/limits.ts";
import { readBody } from "./core/body.ts";
import { readObject } from "./core/judge.ts";
import { systemClock } from "./core/clock.ts";
import { tell } from "./core/watch.ts";
import { keyFor } from "./page_keys.ts";
import { type PageAnswer, readPageAnswer } from "./page_protocol.ts";

export type { PageAnswer } from "./page_protocol.ts";

/** What the page may show while a lead is under way. */
export type SendState = "sending" | "waiting" | "offline";

/** What may be chosen for a lead. */
export interface SendOptions {
  /** The form's name, which is part of its leads' keys; the form's `id` or `name` with the page's path when left out. */
  readonly form?: string | undefined;
  /** Hears what it is at. What it throws is dropped. */
  readonly onState?: ((state: SendState) => void) | undefined;
  /**
   * Ends it; the promise is then rejected with the signal's reason. The lead may have been accepted all the same. Of
   * two clicks, each ends its own promise, and the last one the lead's way.
   */
  readonly signal?: AbortSignal | undefined;
}

/** A lead under way, and who waits for what becomes of it. */
interface Sending {
  readonly answer: Promise<PageAnswer>;
  readonly callers: Set<Caller>;
  readonly ender: AbortController;
}

/** One click. */
interface Caller {
  readonly onState: SendOptions["onState"];
}

/** The relay answers within 20 seconds. */
const tryTimeoutMs = 30_000;
/** Browsers send no more on behalf of a page that is left. */
const keepaliveBytesMax = 60_000;
/** By idempotency key. */
const underWay = new Map<string, Sending>();

/**
 * Sends a form, or the fields of a lead, to the relay at an address. It resolves with what became of the lead, after
 * up to five tries; while the browser is offline it waits, and goes on when it is back.
 *
 * The same content of a form has one idempotency key, which survives a reload: sending it again can double nothing. A
 * second click while the first is under way gets the first one's answer. A changed form is another lead, so that none
 * is taken for one that was sent before.
 */
export async function send(
  relay: string | URL,
  lead: HTMLFormElement | Readonly<Record<string, unknown>>,
  options: SendOptions = {},
): Promise<PageAnswer> {
  const { signal, onState } = options;
  signal?.throwIfAborted();
  const content = JSON.stringify(fieldsOf(lead));
  const address = new URL(relay, location.href).href;
  const key = keyFor(`${address} ${options.form ?? nameOf(lead)}`, content);
  const caller: Caller = { onState };
  const sending = underWay.get(key) ?? start(address, key, content, caller);
  sending.callers.add(caller);
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", leave);
  try {
    return await Promise.race([sending.answer, left]);
  } finally {
    signal?.removeEventListener("abort", leave);
    sending.callers.delete(caller);
    if (sending.callers.size === 0) {
      sending.ender.abort();
      // Who comes next begins anew.
      if (underWay.get(key) === sending) underWay.delete(key);
    }
  }
}

/** Sends a lead off, for a first caller. */
function start(address: string, key: string, content: string, caller: Caller): Sending {
  const callers = new Set([caller]);
  const ender = new AbortController();
  const told = (state: SendState) => callers.forEach(({ onState }) => tell(onState, state));
  const answer = deliver(address, key, content, told, ender.signal);
  const sending = { answer, callers, ender };
  underWay.set(key, sending);
  return sending;
}

/** The text fields of a form; several of one name are joined with a comma. */
function fieldsOf(
  lead: HTMLFormElement | Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!isForm(lead)) return lead;
  const data = new FormData(lead);
  const names = [...new Set(data.keys())];
  const textOf = (name: string) => data.getAll(name).filter((value) => typeof value === "string").join(", ");
  return Object.fromEntries(names.map((name) => [name, textOf(name)]));
}

function nameOf(lead: HTMLFormElement | Readonly<Record<string, unknown>>): string {
  const name = isForm(lead) ? lead.getAttribute("id") ?? lead.getAttribute("name") ?? "" : "";
  return `${location.pathname}#${name}`;
}

function isForm(lead: unknown): lead is HTMLFormElement {
  return typeof HTMLFormElement !== "undefined" && lead instanceof HTMLFormElement;
}

/** Makes tries until one tells what became of the lead. */
async function deliver(
  address: string,
  key: string,
  content: string,
  told: (state: SendState) => void,
  signal: AbortSignal,
): Promise<PageAnswer> {
  for (let tries = 1;;) {
    signal.throwIfAborted();
    if (isOffline()) {
      told("offline");
      await backOnline(signal);
      continue;
    }
    told("sending");
    const answer = await tryOnce(address, key, content, signal);
    if (answer.status !== "try_later") return answer;
    signal.throwIfAborted();
    // Going offline is nobody's fault, and costs no try.
    if (isOffline()) continue;
    if (tries >= limits.tries) return answer;
    told("waiting");
    await systemClock.sleep(backoffMs(tries, Math.random(), null), signal);
    tries += 1;
  }
}

/** One post to the relay; whatever is not its answer is to be tried later. */
async function tryOnce(
  address: string,
  key: string,
  content: string,
  signal: AbortSignal,
): Promise<PageAnswer> {
  const ender = new AbortController();
  const end = () => ender.abort();
  const timer = setTimeout(end, tryTimeoutMs);
  signal.addEventListener("abort", end);
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: content,
      credentials: "omit",
      redirect: "manual",
      // A lead that was sent arrives, also when the visitor leaves.
      keepalive: content.length * 3 < keepaliveBytesMax,
      signal: ender.signal,
    });
    const body = await readBody(response.body, limits.answerBytesMax);
    const answer = body === null ? null : readPageAnswer(readObject(body));
    if (answer !== null) return answer;
    const mayPass = response.ok || response.status >= 500 || response.status === 429;
    return { status: mayPass ? "try_later" : "refused" };
  } catch {
    return { status: "try_later" };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

function isOffline(): boolean {
  return navigator.onLine === false;
}

/** Resolves when the browser is back online, or the signal is aborted. */
function backOnline(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    addEventListener("online", done);
    signal.addEventListener("abort", done);
    // It may have come back before anybody listened.
    if (!isOffline() || signal.aborted) done();
  });
}
