/** A key-gated post: body, authentication, rate limits, commit, and every refusal. */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type KeyFault, keyFault, keyInText, type KeySurface, keySurface } from "../contract/api_key.ts";
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
 * The body's text, or the fault when it has a `Content-Encoding` or is not UTF-8. A byte order mark stays, because the
 * raw body is stored unchanged.
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

/** The fault of a body that the client did not finish. */
export const brokenOff: BodyFault = {
  detail: "the body did not arrive whole",
  reason: "incomplete",
};

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The first 128 bits of a SHA-256 in hex: fits PostgreSQL's `uuid` and halves the index. */
export function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}

/** The contents of an error body besides its code. */
export interface Refusal {
  /** `null` for responses made before the handler: 413 and the per-IP 429. */
  readonly requestId: string | null;
  /** Failing fields and their reasons. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The fault in English, without any value; only with 400, 401 and 422. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Renders an error reply with the status of its code. */
export type Refuse<Code extends string> = (code: Code, refusal: Refusal) => Reply;

/** Renders the error replies of a table of codes. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
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

/** The dependencies of the gate. */
export interface GateParts {
  readonly ipBudget: IpBudget;
  readonly keys: KeyStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly reference: () => Reference;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

/** The details of a refusal, besides the code. */
export interface RefusalDetails extends Pick<Refusal, "fields" | "detail" | "headers"> {
  /** The fault for the log, without the caller's data. */
  readonly reason?: string;
  /** The body is empty: a key check, which no total counts. */
  readonly empty?: boolean;
}

type GateCode = "unauthorized" | "not_accepting";

// A 429 must stay cheap under a flood: a key that was active this recently is not looked up again for it.
const limitedKeyAgeMaxMs = 1_000;

const inUrl: KeyFault = {
  detail: "the key came in the URL, where logs keep it; have it replaced, and send the new one as X-API-Key",
  reason: "key_in_url",
};
const elsewhere: KeyFault = {
  detail: "the key came in Authorization; send it as X-API-Key",
  reason: "key_in_authorization",
};
const wholeKey = /(?:lead|form)_(?:live|test)_[0-9A-Za-z]{38}/;

/** Whether an `Authorization` has a key in it, as a token or as the user name of `Basic`. */
function authorized(value: string): boolean {
  const [, basic = ""] = /^basic\s+(.*)$/i.exec(value) ?? [];
  return keyInText.test(value) || keyInText.test(Buffer.from(basic, "base64").toString("latin1"));
}

const unspent: Spent = { allowed: true, headers: {} };

/** One post; collects the budgets and the key holder as it passes the guards. */
export class Post<Code extends string> {
  /** Arrival time, on the clock of {@linkcode GateParts}. */
  readonly arrivedAtMs: number;
  readonly #exchange: Exchange;
  readonly #parts: GateParts;
  readonly #refuse: Refuse<Code | GateCode>;
  #ofAddress = unspent;
  #spent = unspent;
  #holder: { readonly key: ApiKey; readonly digest: string; readonly isCached: boolean } | null = null;

  constructor(exchange: Exchange, parts: GateParts, refuse: Refuse<Code | GateCode>) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#refuse = refuse;
    this.arrivedAtMs = parts.nowMs();
  }

  /** Headers that report the budgets charged so far. */
  get headers(): Spent["headers"] {
    return this.#spent.headers;
  }

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
   * The active key in `X-API-Key`, or `null`. A wrong checksum or the other surface's key costs no query. Sets the
   * key's id for the access log.
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

  /**
   * 401 for a request without an active key. `detail` comes from the request alone; whether a key exists changes neither
   * the response nor its time.
   *
   * Source: DECISIONS, Decided since (401).
   */
  refuseKey(surface: KeySurface): Promise<Reply> {
    const { query } = this.#exchange;
    const text = this.#exchange.header("x-api-key") ?? "";
    if (text.trim() !== "") return this.refuse("unauthorized", keyFault(text, surface) ?? {});
    if (keyInText.test(query)) {
      this.#expose(query);
      return this.refuse("unauthorized", inUrl);
    }
    const inAuthorization = authorized(this.#exchange.header("authorization") ?? "");
    return this.refuse("unauthorized", inAuthorization ? elsewhere : {});
  }

  /** Counts and logs an active key in a query, which proxies and logs have seen. The 401 does not wait for it. */
  #expose(query: string): void {
    const { keys, totals } = this.#parts;
    const { requestId } = this.#exchange;
    const [text = ""] = wholeKey.exec(query) ?? [];
    if (keySurface(text) === null) return;
    keys.find(hash("sha256", text, "hex")).then(
      (key) => key !== null && totals.exposed(key.id, requestId),
      // The store is away, and the caller has been told to replace the key.
      () => {},
    );
  }

  allowHolder(budget: HolderBudget, holder: Holder): boolean {
    this.#spent = budget.spend(holder, this.#ofAddress, this.#parts.nowMs());
    return this.#spent.allowed;
  }

  /** Commits the entry; `revoked` when the key is no longer active. */
  commit(entry: Entry): Promise<Outcome> {
    const { committer, keys, totals } = this.#parts;
    return committer.commit(entry).then((outcome) => {
      if (outcome.kind !== "revoked") totals.used(entry.keyId, outcome.receivedAt);
      else if (this.#holder !== null) keys.forget(this.#holder.digest);
      return outcome;
    });
  }

  /**
   * Renders a refusal and counts it. A cached key is looked up again first: if it has been revoked, the answer is 401.
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
    if (!fault.empty) this.#parts.totals.refused(holder.key.id, code, fault.fields);
    return this.#reply(code, fault);
  }

  /** Renders 503 for {@linkcode Unavailable}, and rethrows any other error. */
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
    // Produced before the handler. Source: SPEC, Error body.
    const isEarly = code === "body_too_large" || code === "rate_limited" && this.#holder === null;
    return this.#refuse(code, {
      requestId: isEarly ? null : this.#exchange.requestId,
      ...(fields === undefined ? {} : { fields }),
      ...(detail === undefined ? {} : { detail }),
      headers: headers === undefined ? this.headers : { ...this.headers, ...headers },
    });
  }
}

/** The failing fields and other reasons, in names of the service or the operator only. */
function reasonOf({ fields = {}, reason }: RefusalDetails): string | null {
  const failing = Object.entries(fields).map(([name, why]) => `${name} ${why}`);
  return [...failing, ...(reason === undefined ? [] : [reason])].join(", ") || null;
}
