/**
 * A key-gated post on its way to the commit: its body, what the guards of both handlers ask it, and the one way to refuse it.
 *
 * @module
 */

import { hash } from "node:crypto";
import { type KeySurface, keySurface } from "../contract/api_key.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { type BodyFault, bytesFault } from "../lead/body_fault.ts";
import { Unavailable } from "../store/pool.ts";
import type { Entry, Outcome } from "../store/serving/accept.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { ApiKey, KeyStore } from "../store/serving/lookup.ts";
import type { Reference } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import type { Holder, HolderBudget, IpBudget, Spent } from "./rate.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const encoded: BodyFault = {
  detail: "the body has a Content-Encoding; it is needed without one, uncompressed",
  reason: "content_encoding",
};

/**
 * The body's text, or what is wrong when it has a `Content-Encoding` or is not UTF-8. A byte order mark stays: the
 * raw body is kept whole.
 *
 * Source: DECISIONS, The lead envelope and The intake endpoint.
 */
export function bodyText(exchange: Exchange, bytes: Uint8Array): string | BodyFault {
  if (!isIdentity(exchange.header("content-encoding"))) return encoded;
  try {
    return utf8.decode(bytes);
  } catch {
    return bytesFault(bytes);
  }
}

/** What is wrong with a body that the client did not send to its end. */
export const brokenOff: BodyFault = {
  detail: "the body did not arrive whole",
  reason: "incomplete",
};

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The first 128 bits of a SHA-256. Chosen: half of it, because it fits PostgreSQL's `uuid` and halves the index. */
export function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}

/** What an error body holds besides its code. */
export interface Refusal {
  /** `null` for the answers that are made before the handler: 413 and the per-IP 429. */
  readonly requestId: string | null;
  /** Failing fields with their reasons. */
  readonly fields?: Readonly<Record<string, string>>;
  /** What is wrong, in English and without any value: with 400 and 422 only. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes an error reply with the status of its code. */
export type Refuse<Code extends string> = (code: Code, refusal: Refusal) => Reply;

/** The error replies of a table of codes. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
export function refuseBy<Code extends string>(
  errors: Readonly<Record<Code, { readonly status: number }>>,
): Refuse<Code> {
  return (code, refusal) =>
    json(errors[code].status, {
      error: code,
      ...(refusal.requestId === null ? {} : { request_id: refusal.requestId }),
      ...(refusal.fields === undefined ? {} : { fields: refusal.fields }),
      ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
    }, refusal.headers);
}

/** What the gate works with. */
export interface GateParts {
  readonly ipBudget: IpBudget;
  readonly keys: KeyStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly reference: () => Reference;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

/** What a guard has found wrong, besides the code. */
export interface RefusalDetails extends Pick<Refusal, "fields" | "detail" | "headers"> {
  /** What is wrong, for the log: without anything of the caller's. */
  readonly reason?: string;
  /** The body says nothing: this is the key check, which adds to no total. */
  readonly empty?: boolean;
}

/** The codes that the gate answers with itself. */
type GateCode = "unauthorized" | "not_accepting";

// A 429 is an answer to a key holder too, but it must stay cheap under a flood: a key that was active this
// recently is not looked up again for it.
const limitedKeyAgeMaxMs = 1_000;

const unspent: Spent = { allowed: true, headers: {} };

/** One post. It learns from the guards that it passes what is left of the budgets and who has sent it. */
export class Post<Code extends string> {
  /** When the request arrived, on the clock of {@linkcode GateParts}. */
  readonly arrivedAtMs: number;
  readonly #exchange: Exchange;
  readonly #parts: GateParts;
  readonly #refuse: Refuse<Code | GateCode>;
  #ofAddress = unspent;
  #spent = unspent;
  #holder: { readonly key: ApiKey; readonly digest: string; readonly isCached: boolean } | null = null;

  /** `refuse` makes the surface's error replies. */
  constructor(exchange: Exchange, parts: GateParts, refuse: Refuse<Code | GateCode>) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#refuse = refuse;
    this.arrivedAtMs = parts.nowMs();
  }

  /** What an answer tells of the budgets that have been spent so far. */
  get headers(): Spent["headers"] {
    return this.#spent.headers;
  }

  /** Spends one request of the client address's budget. */
  allowAddress(): boolean {
    const { ipBudget, reference } = this.#parts;
    this.#ofAddress = ipBudget.spend(
      this.#exchange.clientAddress,
      reference().ipLimits,
      this.arrivedAtMs,
    );
    this.#spent = this.#ofAddress;
    return this.#spent.allowed;
  }

  /**
   * The active key that `X-API-Key` shows, or `null`. A wrong checksum costs no query, and neither does a key of the
   * other surface. The access log learns the key's id.
   *
   * @throws {Unavailable} when the store cannot be read
   */
  authenticate(surface: KeySurface): ApiKey | null | Promise<ApiKey | null> {
    const { keys } = this.#parts;
    const text = this.#exchange.header("x-api-key") ?? "";
    if (keySurface(text) !== surface) return null;
    const digest = hash("sha256", text, "hex");
    const cached = keys.cached(digest);
    if (cached !== null) return this.#held(cached, digest, true);
    return keys.find(digest).then((key) => key === null ? null : this.#held(key, digest, false));
  }

  #held(key: ApiKey, digest: string, isCached: boolean): ApiKey {
    this.#exchange.keyId = String(key.id);
    this.#holder = { key, digest, isCached };
    return key;
  }

  /** Spends one request of the budget that the key holder has. */
  allowHolder(budget: HolderBudget, holder: Holder): boolean {
    this.#spent = budget.spend(holder, this.#ofAddress, this.#parts.nowMs());
    return this.#spent.allowed;
  }

  /** Commits what was posted; `revoked` when the key is no longer active. */
  commit(entry: Entry): Promise<Outcome> {
    const { committer, keys, totals } = this.#parts;
    return committer.commit(entry).then((outcome) => {
      if (outcome.kind !== "revoked") totals.used(entry.keyId, outcome.receivedAt);
      else if (this.#holder !== null) keys.forget(this.#holder.digest);
      return outcome;
    });
  }

  /**
   * Every refusal. A key from the cache may only lead to a commit, which looks at it again: before any other answer to
   * a key holder the store is asked, and a key that it no longer has gets 401. What a key holder is refused for is
   * counted.
   *
   * Source: DECISIONS, The intake endpoint (key check, what a refused request leaves).
   *
   * @throws {Unavailable} when the store cannot be read
   */
  async refuse(code: Code | "unauthorized", fault: RefusalDetails = {}): Promise<Reply> {
    const holder = this.#holder;
    this.#exchange.reason = reasonOf(fault);
    if (holder === null || code === "unauthorized") return this.#reply(code, fault);
    if (await this.#isRevoked(code)) {
      this.#exchange.reason = null;
      return this.#reply("unauthorized");
    }
    if (!fault.empty) {
      const refused = Object.entries(fault.fields ?? { "": code });
      for (const [field, reason] of refused) this.#parts.totals.refused(holder.key.id, reason, field);
    }
    return this.#reply(code, fault);
  }

  /** 503 for {@linkcode Unavailable}: nothing was promised. Throws whatever else a guard has thrown. */
  refuseUnavailable(error: unknown): Reply {
    if (!(error instanceof Unavailable)) throw error;
    this.#spent = this.#ofAddress;
    return this.#reply("not_accepting");
  }

  async #isRevoked(code: string): Promise<boolean> {
    if (this.#holder === null || !this.#holder.isCached) return false;
    const { digest } = this.#holder;
    const { keys } = this.#parts;
    if (code === "rate_limited" && keys.cached(digest, limitedKeyAgeMaxMs) !== null) return false;
    return await keys.find(digest) === null;
  }

  #reply(code: Code | GateCode, { fields, detail, headers }: RefusalDetails = {}): Reply {
    // Source: SPEC, Error body: 413 and the per-IP 429 are produced before the handler.
    const isEarly = code === "body_too_large" || code === "rate_limited" && this.#holder === null;
    return this.#refuse(code, {
      requestId: isEarly ? null : this.#exchange.requestId,
      ...(fields === undefined ? {} : { fields }),
      ...(detail === undefined ? {} : { detail }),
      headers: headers === undefined ? this.headers : { ...this.headers, ...headers },
    });
  }
}

/** The fields that fail, and what else is wrong: names of ours and of the operator's alone. */
function reasonOf({ fields = {}, reason }: RefusalDetails): string | null {
  const failing = Object.entries(fields).map(([name, why]) => `${name} ${why}`);
  return [...failing, ...(reason === undefined ? [] : [reason])].join(", ") || null;
}
