/**
 * What a client can do, on whatever it sends with. This module is browser compatible.
 *
 * @module
 */

import { readAddress } from "./address.ts";
import { makeRequestId, readIdempotencyKey, readRequestId, readTime, readTries } from "./arguments.ts";
import { type Done, perform, type Plan, type Settings } from "./call.ts";
import { type Clock, systemClock } from "./clock.ts";
import { MisconfiguredError } from "./errors.ts";
import { type Acknowledged, judgeKeyCheck, judgePost } from "./judge.ts";
import { faultOfKey } from "./key.ts";
import { type Lead, writeLead } from "./lead.ts";
import { limits } from "./limits.ts";
import type { Transport } from "./transport.ts";
import { version } from "./version.ts";
import { judgeVocabulary, type KeptVocabulary, type Vocabulary } from "./vocabulary.ts";
import type { Observer } from "./watch.ts";

/** What may be chosen for a client. Times are in milliseconds, up to 2,147,483,647: what a timer can hold. */
export interface ClientSettings {
  /** Tries that may fail before a call gives up: 5. With 1 nothing is ever tried again, but for a 429. */
  readonly tries?: number | undefined;
  /** One try, from the first packet of connecting to the last byte of the answer: 20,000. */
  readonly tryTimeoutMs?: number | undefined;
  /** One call, with its waits, where the call names no other: 120,000. */
  readonly deadlineMs?: number | undefined;
  /** Hears of every try and every wait, never of content. */
  readonly observer?: Observer | undefined;
  /** Time; replaced in tests. */
  readonly clock?: Clock | undefined;
  /** Draws from 0 to 1 for the jitter of waits; replaced in tests. */
  readonly random?: (() => number) | undefined;
}

/** What may be chosen for one call. */
export interface CallOptions {
  /** The `X-Request-Id` of all tries, at most 64 printable ASCII characters; the kit makes one when none is given. */
  readonly requestId?: string | undefined;
  /** This call with its waits, in milliseconds, in place of the client's. */
  readonly deadlineMs?: number | undefined;
  /** Ends the call at once when it is aborted, with a `CancelledError`. */
  readonly signal?: AbortSignal | undefined;
}

/** The server has the lead on disk. */
export interface Acknowledgement extends Acknowledged {
  /** The `X-Request-Id` that was sent. */
  readonly requestId: string;
  /** Spent tries, the one that was acknowledged among them. */
  readonly tries: number;
}

/** What a key check found. */
export interface KeyCheck {
  /** `valid`: the key is active; `invalid`: it is unknown or revoked, or belongs to another address. */
  readonly verdict: "valid" | "invalid";
  /** The `X-Request-Id` that was sent. */
  readonly requestId: string;
  /** Spent tries, the one that was answered among them. */
  readonly tries: number;
}

/** What a kit brings of its own. */
export interface Kit {
  readonly name: "leads-js" | "leads-node";
  readonly key: unknown;
  readonly baseUrl: unknown;
  readonly transport: Transport;
  /** Throws a `MisconfiguredError` where the platform cannot be trusted with a post to the address now. */
  readonly ensureSafe?: (baseUrl: string) => void;
}

/** A client of the lead intake. It opens nothing until it is called, and may be shared by all of a program. */
export class IntakeClient {
  /** The address of the intake, without a slash at its end. */
  readonly baseUrl: string;
  readonly #name: string;
  readonly #ensureSafe: Kit["ensureSafe"];
  readonly #key: string;
  readonly #deadlineMs: number;
  readonly #settings: Settings;
  #kept: KeptVocabulary | null = null;

  /**
   * Called by each kit with what it brings.
   *
   * @throws {MisconfiguredError} when key, address or a setting cannot be right
   */
  protected constructor(kit: Kit, settings: ClientSettings) {
    const fault = faultOfKey(kit.key);
    if (fault !== null) throw new MisconfiguredError(fault);
    this.baseUrl = readAddress(kit.baseUrl);
    kit.ensureSafe?.(this.baseUrl);
    this.#ensureSafe = kit.ensureSafe;
    this.#name = kit.name;
    this.#key = kit.key as string;
    this.#deadlineMs = readTime("deadlineMs", settings.deadlineMs ?? limits.deadlineMs);
    this.#settings = {
      transport: kit.transport,
      tries: readTries(settings.tries ?? limits.tries),
      tryTimeoutMs: readTime("tryTimeoutMs", settings.tryTimeoutMs ?? limits.tryTimeoutMs),
      clock: settings.clock ?? systemClock,
      random: settings.random ?? Math.random,
      observer: settings.observer,
    };
  }

  /**
   * Posts a lead: an object, or JSON text that is sent as it is. Resolves once the server has it on disk, also when it
   * had it before (`status` is then `duplicate`).
   *
   * @param idempotencyKey your stable id of the lead with your namespace before it: see `idempotencyKey()`
   * @throws {InvalidLeadError} with the `fields` to correct
   * @throws {UnavailableError} when tries or deadline are spent: post it later with the same idempotency key
   * @throws {LeadsError} of another kind: `unauthorized`, `refused`, `cancelled`, `misconfigured`
   */
  async postLead(
    lead: Lead | string,
    idempotencyKey: string,
    options: CallOptions = {},
  ): Promise<Acknowledgement> {
    const plan = this.#post(options, {
      name: "post_lead",
      headers: { "idempotency-key": readIdempotencyKey(idempotencyKey) },
      body: writeLead(lead),
      judge: judgePost,
    });
    const { value, tries } = await perform(this.#settings, plan);
    return { ...value, requestId: plan.requestId, tries };
  }

  /**
   * Asks whether the key is valid and active. Nothing is stored, delivered or used up.
   *
   * @throws {LeadsError} of the kind that kept it from finding out
   */
  async checkKey(options: CallOptions = {}): Promise<KeyCheck> {
    const plan = this.#post(options, { name: "check_key", headers: {}, body: "{}", judge: judgeKeyCheck });
    const { value, tries } = await perform(this.#settings, plan);
    return { verdict: value, requestId: plan.requestId, tries };
  }

  /**
   * The words that the intake knows. They are kept for as long as the server allows, and then asked for again. No key
   * is sent.
   *
   * @throws {LeadsError} of the kind `unavailable`, `refused`, `cancelled` or `misconfigured`
   */
  async vocabulary(options: CallOptions = {}): Promise<Vocabulary> {
    const { clock } = this.#settings;
    const kept = this.#kept;
    const plan = this.#plan(options, {
      name: "vocabulary",
      method: "GET",
      path: "/v1/vocabulary",
      headers: kept === null || kept.etag === null ? {} : { "if-none-match": kept.etag },
      body: null,
      judge: (answer) => judgeVocabulary(answer, kept, clock.now()),
    });
    if (kept !== null && clock.now() < kept.freshUntilMs) return kept.vocabulary;
    const { value }: Done<KeptVocabulary> = await perform(this.#settings, plan);
    this.#kept = value;
    return value.vocabulary;
  }

  #post<T>(options: CallOptions, post: Pick<Plan<T>, "name" | "headers" | "body" | "judge">): Plan<T> {
    const headers = { "x-api-key": this.#key, "content-type": "application/json", ...post.headers };
    return this.#plan(options, { ...post, method: "POST", path: "/v1/intake", headers });
  }

  #plan<T>(
    options: CallOptions,
    call: Pick<Plan<T>, "name" | "method" | "headers" | "body" | "judge"> & { readonly path: string },
  ): Plan<T> {
    // Once more: a program may change its environment.
    this.#ensureSafe?.(this.baseUrl);
    const { path, headers, ...rest } = call;
    const requestId = options.requestId === undefined
      ? makeRequestId(this.#name)
      : readRequestId(options.requestId);
    return {
      ...rest,
      url: this.baseUrl + path,
      headers: {
        ...headers,
        accept: "application/json",
        "user-agent": `${this.#name}/${version}`,
        "x-request-id": requestId,
      },
      requestId,
      deadlineMs: readTime("deadlineMs", options.deadlineMs ?? this.#deadlineMs),
      signal: options.signal,
    };
  }
}
