/**
 * Records clients' posts and responses, and checks the store against them: the specification's promises under kills
 * and cuts.
 */

import { type Answer, post, type RequestOptions } from "../client.ts";
import { readStore, type Store, type StoredEvent } from "./store.ts";

/** The outcome of a post as the client sees it. */
export type Outcome =
  | { readonly kind: "accepted" | "duplicate"; readonly eventId: string }
  /** 503: it may or may not be stored. */
  | { readonly kind: "not_accepting" }
  /** No complete response: it may or may not be stored. */
  | { readonly kind: "no_answer"; readonly cause: string }
  /** Any other response: it must not be stored. */
  | { readonly kind: "refused"; readonly status: number; readonly text: string };

/** A sent request. */
export interface Request {
  readonly apiKey: string;
  /** `null` for none; then the content identifies the lead, and no two bodies may have the same content. */
  readonly idempotencyKey: string | null;
  /** As posted. */
  readonly body: string;
}

/** A request and its outcome. */
export interface Entry extends Request {
  /** `undefined` while it is in flight. */
  outcome: Outcome | undefined;
  /** By `performance.now()`. */
  readonly sentAtMs: number;
  durationMs: number;
}

/** All requests sent to one store. */
export class History {
  readonly entries: Entry[] = [];
  readonly #latest = new Map<string, Outcome>();
  readonly #acceptedAtMs = new Map<string, number[]>();
  #names = 0;

  /** Returns an Idempotency-Key that this history has not used. */
  freshKey(prefix: string): string {
    this.#names += 1;
    return `${prefix}-${this.#names}`;
  }

  /** Posts a lead and records it. Never throws for a missing response. */
  async post(intakeUrl: string, request: Request, options: RequestOptions = {}): Promise<Outcome> {
    const entry: Entry = { ...request, outcome: undefined, sentAtMs: performance.now(), durationMs: 0 };
    this.entries.push(entry);
    const outcome = await post(`${intakeUrl}/v1/intake`, {
      key: request.apiKey,
      headers: request.idempotencyKey === null ? {} : { "Idempotency-Key": request.idempotencyKey },
      body: request.body,
      ...options,
    }).then(outcomeOf, (error) => ({ kind: "no_answer", cause: String(error) } as const));
    entry.durationMs = performance.now() - entry.sentAtMs;
    entry.outcome = outcome;
    this.#latest.set(intakeUrl, outcome);
    if (outcome.kind === "accepted") this.acceptedAtMs(intakeUrl).push(performance.now());
    return outcome;
  }

  /** Returns the times of a server's 202 responses, by `performance.now()`. */
  acceptedAtMs(intakeUrl: string): number[] {
    const times = this.#acceptedAtMs.get(intakeUrl) ?? [];
    this.#acceptedAtMs.set(intakeUrl, times);
    return times;
  }

  /** Returns the responses that no valid lead with an active key should get. */
  refusals(): (Outcome & { readonly kind: "refused" })[] {
    return this.entries.flatMap(({ outcome }) => outcome?.kind === "refused" ? [outcome] : []);
  }

  /** Returns a server's most recent outcome. */
  latest(intakeUrl: string): Outcome | undefined {
    return this.#latest.get(intakeUrl);
  }

  /** Returns the number of requests with this outcome, starting at index `first`. */
  count(kind: Outcome["kind"], first = 0): number {
    return this.entries.slice(first).filter((entry) => entry.outcome?.kind === kind).length;
  }

  /** Returns one line for the test's output about the requests starting at index `first`. */
  summary(first = 0): string {
    const kinds = ["accepted", "duplicate", "not_accepting", "no_answer", "refused"] as const;
    return kinds.map((kind) => `${kind} ${this.count(kind, first)}`).join(", ");
  }

  /**
   * Checks the store against what clients were told:
   *
   * - every lead that was answered 202 or 200 is there once, with a body that was posted under its key, byte
   *   for byte; a 202's with its own;
   * - no Idempotency-Key was answered 202 twice or has two events;
   * - nothing else is there, except for requests that got no answer or 503;
   * - what is committed together is there together: outbox rows, their count, the campaigns' spend.
   *
   * @throws {Error} with every finding
   */
  async check(databaseUrl: string): Promise<Store> {
    const store = await readStore(databaseUrl);
    const findings = [...this.findings(store), ...togetherFindings(store)];
    if (findings.length === 0) return store;
    const shown = findings.slice(0, 20).join("\n  ");
    throw new Error(
      `${findings.length} findings, ${store.events.length} events (${this.summary()}):\n  ${shown}`,
    );
  }

  /** Returns the faults of the stored events, given what clients posted and received. */
  findings(store: Pick<Store, "events">): string[] {
    // Duplicates are recognized as the service does: by the Idempotency-Key, or else by the content.
    const eventsByKey = Map.groupBy(store.events, (event) => event.idempotencyKey ?? `content ${event.raw}`);
    const entriesByKey = Map.groupBy(
      this.entries,
      (entry) => entry.idempotencyKey ?? `content ${entry.body}`,
    );
    const findings: string[] = [];
    for (const [key, entries] of entriesByKey) {
      findings.push(...keyFindings(entries, eventsByKey.get(key) ?? []).map((what) => `${key}: ${what}`));
    }
    for (const [key, events] of eventsByKey) {
      if (key === null || !entriesByKey.has(key)) {
        findings.push(`${key}: ${events.length} events, never posted`);
      }
    }
    return findings;
  }
}

function outcomeOf(answer: Answer): Outcome {
  const { status, json, text } = answer;
  if (status === 202 && json?.status === "accepted") return { kind: "accepted", eventId: json.event_id };
  if (status === 200 && json?.status === "duplicate") return { kind: "duplicate", eventId: json.event_id };
  if (status === 503 && json?.error === "not_accepting") return { kind: "not_accepting" };
  return { kind: "refused", status, text };
}

/** Returns the faults of one Idempotency-Key. */
function keyFindings(entries: readonly Entry[], events: readonly StoredEvent[]): string[] {
  const findings: string[] = [];
  const [event] = events;
  if (events.length > 1) findings.push(`${events.length} events`);
  if (entries.filter((entry) => entry.outcome?.kind === "accepted").length > 1) {
    findings.push("answered 202 more than once");
  }
  for (const { outcome, body } of entries) {
    if (outcome === undefined) findings.push("still under way");
    if (outcome?.kind !== "accepted" && outcome?.kind !== "duplicate") continue;
    if (event === undefined) findings.push(`answered ${outcome.kind}, but it is not in the store`);
    else if (event.eventId !== outcome.eventId) {
      findings.push(`answered with ${outcome.eventId}, stored another`);
    } else if (outcome.kind === "accepted" && event.raw !== body) findings.push("stored with another body");
  }
  if (event === undefined) return findings;
  const possible = entries.filter(({ outcome }) =>
    outcome?.kind === "accepted" || outcome?.kind === "not_accepting" || outcome?.kind === "no_answer"
  );
  if (possible.length === 0) findings.push("stored, though every answer was a refusal or a 200");
  else if (!possible.some(({ body }) => body === event.raw)) {
    findings.push("stored with a body nobody posted");
  }
  return findings;
}

/** Returns what one transaction should have committed and did not. */
function togetherFindings(store: Store): string[] {
  const findings: string[] = [];
  const outbox = new Set(store.outbox);
  const eventIds = new Set(store.events.map((event) => event.eventId));
  for (const id of eventIds) if (!outbox.has(id)) findings.push(`${id} has no outbox row`);
  for (const id of outbox) if (!eventIds.has(id)) findings.push(`outbox row ${id} has no event`);
  if (store.counted.pending !== outbox.size) {
    findings.push(`pending is ${store.counted.pending}, with ${outbox.size} outbox rows`);
  }
  const spend = new Map<string, number>();
  for (const { campaign, costCents } of store.events) {
    if (campaign !== null) spend.set(campaign, (spend.get(campaign) ?? 0) + costCents);
  }
  for (const { slug, spendCents } of store.campaigns) {
    const events = spend.get(slug) ?? 0;
    if (spendCents !== events) findings.push(`campaign ${slug} spent ${spendCents}, its events ${events}`);
  }
  return findings;
}
