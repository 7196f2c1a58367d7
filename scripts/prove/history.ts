/**
 * What was seen from outside in one round: the whole of what the rules judge by. Times are milliseconds on the monotonic
 * clock of the process that proves, unless they say otherwise.
 *
 * @module
 */

import type { refusals } from "./leads.ts";

/** A kind of post that is stored. */
export type PostKind = "lead" | "form" | "trapped_form" | "spam_form";

/** What a request is, and so which answers it may get; one that is cut short has only a part of a lead. */
export type What = PostKind | keyof typeof refusals | "cut_short";

/** What an answer said. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A request and what became of it. */
export interface Asked {
  readonly what: What;
  /** Which of the callers. */
  readonly caller: number;
  /** Index of the service process that was asked. */
  readonly node: number;
  readonly tenant: string;
  /** The key's id in the database; 0 for one that is not there. */
  readonly keyId: number;
  /** The client's address. */
  readonly address: string;
  readonly idempotencyKey: string | null;
  /** Names the content, however it is spelled. */
  readonly content: string;
  readonly body: string;
  /** What is stored of it; or of what is refused, the status of the answer, its error and fields. */
  readonly expected: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly sentAtMs: number;
  doneAtMs: number;
  /** `null`: none came, or not the whole of one. */
  answer: Answer | null;
  /** Why none came. */
  failure: string | null;
}

/** A request of the service that arrived downstream, or a call of the actions process that arrived at a CRM. */
export interface Arrived {
  readonly at: "tier" | "customer";
  readonly eventId: string;
  /** Whose sink it arrived at: the tenant in the CRM's address; the one that the body names, at the tier. */
  readonly tenant: string;
  /** The rest of a CRM's address; `null` at the tier. */
  readonly route: string | null;
  /** With the customer's secret, as webhooks are. */
  readonly isSigned: boolean;
  readonly body: string;
  readonly atMs: number;
  /** The status of the answer; `null` while none was given, or none could be read. */
  said: number | null;
  /** When the whole of the answer was written. */
  saidAtMs: number | null;
}

/** One look at `GET /healthz`. */
export interface Look {
  readonly node: number;
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  /** `null`: no answer. */
  readonly status: number | null;
  readonly health: { ok: boolean; pending: number; dead: number; store_writable: boolean } | null;
}

/** Something that was done to the parts. */
export interface Happened {
  readonly kind: string;
  /** The service process that it was done to; `null`: another part, or all of them. */
  readonly node: number | null;
  readonly fromMs: number;
  /** When the part was whole again. */
  readonly toMs: number;
  /**
   * The span in which no process could get a commit confirmed. `stirredAtMs`: what waited was cancelled then, and some of
   * it came back as if it had been.
   */
  readonly noCommit: { readonly fromMs: number; readonly toMs: number; readonly stirredAtMs?: number } | null;
}

/** A key of the round. */
export interface Key {
  readonly id: number;
  readonly tenant: string;
  readonly text: string;
  readonly surface: "intake" | "forms";
  readonly label: string;
  readonly campaign: string | null;
  /** Its own limit; `null`: one so high that nobody meets it. */
  readonly limit: { readonly perMinute: number; readonly burst: number } | null;
}

/** A row of `event`, and of `submission` where there is one. */
export interface StoredEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly keyId: number;
  /** Milliseconds since 1970 on the database's clock. */
  readonly receivedAtMs: number;
  readonly receivedAt: string;
  readonly idempotencyKey: string | null;
  readonly flags: readonly string[];
  readonly lead: string;
  readonly extra: string | null;
  readonly raw: string;
  readonly verdict: string | null;
  readonly reasons: readonly string[] | null;
  /** Whom the search finds it by. */
  readonly phone: string | null;
  readonly email: string | null;
  readonly lastName: string | null;
}

/** A row of `collision`. */
export interface StoredCollision
  extends Pick<StoredEvent, "eventId" | "keyId" | "flags" | "lead" | "extra" | "raw"> {
  readonly count: number;
}

/** A row of `attempt`. */
export interface StoredAttempt {
  readonly eventId: string;
  readonly number: number;
  /** When it began, on the database's clock. */
  readonly atMs: number;
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  readonly spent: boolean;
}

/** The tables at the end. */
export interface Tables {
  readonly events: readonly StoredEvent[];
  readonly attempts: readonly StoredAttempt[];
  readonly outbox: readonly string[];
  readonly dead: readonly { readonly eventId: string; readonly reason: string | null }[];
  readonly collisions: readonly StoredCollision[];
  /** Of the service's own report: accepted and spend of all keys; `null` when it was not asked. */
  readonly report: { readonly accepted: number; readonly spendCents: number } | null;
}

/** A revocation. */
export interface Revoked {
  readonly keyId: number;
  readonly fromMs: number;
  readonly returnedAtMs: number;
  /** The database's clock when the revocation had returned, milliseconds since 1970. */
  readonly databaseMs: number;
  /** When the key was active again: the last moment before, and the first one after. */
  readonly until?: { readonly fromMs: number; readonly toMs: number; readonly databaseMs: number };
}

/** What a round notes while it runs. */
export interface Notes {
  readonly tenants: { readonly id: number; readonly slug: string; readonly sandbox: boolean }[];
  readonly keys: Key[];
  readonly looks: Look[];
  readonly happened: Happened[];
  /** When small commits of the proof's own were confirmed, four a second where the machine has time for them. */
  readonly beats: number[];
  /** Service processes that ended; `signal` is what they were told at `atMs`, `null` when they ended by themselves. */
  readonly ended: {
    readonly node: number;
    readonly signal: "SIGTERM" | "SIGKILL" | null;
    readonly atMs: number;
    readonly endedAtMs: number;
    readonly code: number | string;
  }[];
  /** Keys that were revoked, or suspended with their tenant. */
  readonly revoked: Revoked[];
  /** The database's clock was set on. */
  readonly clockSteps: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number }[];
  /** When each process listened, by node: a limiter begins anew with each life. */
  readonly lives: { readonly node: number; readonly atMs: number }[];
  /** Why a part did not come back when it was started. */
  readonly unstarted: string[];
}

/** All of a round. */
export interface History extends Readonly<Notes> {
  readonly nodes: number;
  /** The actions process stood between the service and the CRMs. */
  readonly hasActions: boolean;
  readonly attemptsMax: number;
  /** After so long without an answer a send counts as unanswered. */
  readonly sendTimeoutMs: number;
  readonly asked: readonly Asked[];
  readonly arrived: readonly Arrived[];
  /** Events that were dead and that an operator put back; `spent` attempts had counted towards that. */
  readonly replayed: readonly { eventId: string; spent: number; reason: string | null }[];
  /** When everything was whole again for good. */
  readonly calmAtMs: number;
  /** Whether nothing waited any more within the time that was given; else what did. */
  readonly undrained: string | null;
  readonly tables: Tables;
  /** Repeats that were counted, when all processes had ended in good order. */
  readonly duplicates: number;
  /** How often each verb was done, of callers and operators. */
  readonly verbs: Readonly<Record<string, number>>;
  /** What was not as the model says after operators; `null` in a round without them. */
  readonly operated: readonly string[] | null;
  /** What the processes and the server wrote. */
  readonly logs: readonly { readonly name: string; readonly text: string }[];
}

/** Whether a request may be stored. */
export function isPost({ what }: Pick<Asked, "what">): boolean {
  return what in verdicts;
}

/** Of each kind of post, what the form finds of it. */
export const verdicts: Readonly<Record<PostKind, string | null>> = {
  ...{ lead: null, form: "clean", trapped_form: "honeypot", spam_form: "spam" },
};

/** The members of a JSON answer; empty when it is none. */
export function membersOf(answer: Answer | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer?.text ?? "");
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

/** The id of the event that an acknowledgement names, or `""`. */
export function namedEvent(asked: Pick<Asked, "answer">): string {
  const { event_id: lead, submission_id: form } = membersOf(asked.answer);
  return String(lead ?? form ?? "");
}
