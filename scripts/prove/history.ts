/**
 * Everything that the proof observes in one round; the rules have no other input. Times are milliseconds on the proof's
 * monotonic clock unless stated otherwise.
 *
 * @module
 */

import type { refusals } from "./leads.ts";
import type { DeliveryLimits } from "./delivery_limits.ts";

/** A kind of post that can be stored. */
export type PostKind = "lead" | "form" | "trapped_form" | "spam_form";

/** A kind of request, which determines the permitted responses; `cut_short` sends only part of a lead. */
export type RequestKind = PostKind | keyof typeof refusals | "cut_short";

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A request and its outcome. */
export interface Exchange {
  readonly kind: RequestKind;
  /** The caller's index. */
  readonly caller: number;
  /** The index of the service process that received it. */
  readonly node: number;
  readonly tenant: string;
  /** The key's id in the database; 0 for an unknown key. */
  readonly keyId: number;
  /** The client's address. */
  readonly address: string;
  readonly idempotencyKey: string | null;
  /** Identifies the content in all of its spellings. */
  readonly content: string;
  readonly body: string;
  /** The expected stored fields of a post, or the expected status, error and fields of a refusal. */
  readonly expected: Readonly<Record<string, unknown>>;
  /** The request id that the response must have; `null`: one that the service generated. */
  readonly requestId: string | null;
  readonly sentAtMs: number;
  doneAtMs: number;
  /** `null` if no complete response arrived. */
  response: HttpResponse | null;
  /** Why no response arrived. */
  failure: string | null;
}

/** A request that the tier received from the service, or an effect that a recipient received from the actions process. */
export interface Delivery {
  readonly receiver: "tier" | "customer" | "chat" | "mail";
  readonly eventId: string;
  /** The tenant in the route's address; at the tier, the tenant that the body names. */
  readonly tenant: string;
  /** The mailbox, or the path of the route's URL without its first slash; `null` at the tier. */
  readonly route: string | null;
  /** Whether a webhook is signed with all of the tenant's secrets; true for other deliveries. */
  readonly isSigned: boolean;
  readonly body: string;
  readonly atMs: number;
  /** The response's status; `null` without a readable response. */
  responseStatus: number | null;
  /** When the response was completely written. */
  respondedAtMs: number | null;
}

/** One `GET /healthz` request. */
export interface HealthCheck {
  readonly node: number;
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  /** The response's status, or `null` without a response. */
  readonly status: number | null;
  readonly health: { ok: boolean; pending: number; dead: number; store_writable: boolean } | null;
}

/** A step that was performed. */
export interface PerformedStep {
  readonly kind: string;
  /** The index of the affected service process, or `null` if the step affects other parts. */
  readonly node: number | null;
  readonly fromMs: number;
  /** When the part worked again. */
  readonly toMs: number;
  /**
   * The span in which no commit could be confirmed. Until `canceledAtMs`, waiting commits were canceled, which PostgreSQL
   * reports as commits with a warning.
   */
  readonly noCommit:
    | { readonly fromMs: number; readonly toMs: number; readonly canceledAtMs?: number }
    | null;
}

/** An API key. */
export interface Key {
  readonly id: number;
  readonly tenant: string;
  readonly text: string;
  readonly surface: "intake" | "forms";
  readonly label: string;
  readonly campaign: string | null;
  /** The key's rate limit, or `null` if it is too high to be reached. */
  readonly limit: { readonly perMinute: number; readonly burst: number } | null;
}

/** A row of `event`, with its row of `submission` if there is one. */
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
  /** The form key of a submission. */
  readonly form: string | null;
  /** The contact columns by which the search finds the event. */
  readonly phone: string | null;
  readonly email: string | null;
  readonly lastName: string | null;
}

/** A row of `collision`. */
export interface StoredCollision
  extends Pick<StoredEvent, "eventId" | "keyId" | "flags" | "lead" | "extra" | "raw"> {
  readonly count: number;
  readonly otherPerson: boolean;
}

/** A row of `actions.effect`. */
export interface StoredEffect {
  readonly eventId: string;
  readonly address: string;
  readonly isDone: boolean;
  readonly status: number | null;
}

/** A row of `actions.route`. */
export interface StoredRoute {
  readonly tenant: string;
  readonly kind: string;
  readonly source: string;
  readonly form: string;
  readonly address: string;
}

/** A row of `attempt`. */
export interface StoredAttempt {
  readonly eventId: string;
  readonly number: number;
  /** The attempt's start, on the database's clock. */
  readonly atMs: number;
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost" | "marked";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  readonly spent: boolean;
}

/** The tables after all faults and before the operators' work. */
export interface Tables {
  readonly events: readonly StoredEvent[];
  readonly attempts: readonly StoredAttempt[];
  readonly outbox: readonly string[];
  readonly dead: readonly { readonly eventId: string; readonly reason: string | null }[];
  readonly collisions: readonly StoredCollision[];
  readonly effects: readonly StoredEffect[];
  readonly routes: readonly StoredRoute[];
  /** Differences between a service process's report and the events. */
  readonly reportDifferences: readonly string[];
}

/** The revocation of a key, or its suspension with its tenant. */
export interface Revocation {
  readonly keyId: number;
  readonly fromMs: number;
  readonly returnedAtMs: number;
  /** The database's clock after the revocation had returned, in milliseconds since 1970. */
  readonly databaseMs: number;
  /** The span in which the key became active again. */
  readonly reactivated?: { readonly fromMs: number; readonly toMs: number; readonly databaseMs: number };
}

/** The observations that a round records while it runs. */
export interface Notes {
  readonly tenants: { readonly id: number; readonly slug: string; readonly sandbox: boolean }[];
  readonly keys: Key[];
  readonly healthChecks: HealthCheck[];
  readonly performed: PerformedStep[];
  /** When the proof's own small commits were confirmed: four per second on an idle machine. */
  readonly heartbeats: number[];
  /** The exits of service processes; `signal` was sent at `atMs`, and is `null` if the process exited on its own. */
  readonly exits: {
    readonly node: number;
    readonly signal: "SIGTERM" | "SIGKILL" | null;
    readonly atMs: number;
    readonly endedAtMs: number;
    readonly code: number | string;
  }[];
  readonly revocations: Revocation[];
  /** When and how far the database's clock was moved; back if negative. */
  readonly clockSteps: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number }[];
  /** When each process started to listen; a restart resets the limits. */
  readonly starts: { readonly node: number; readonly atMs: number }[];
  /** Parts that did not start in time. */
  readonly failedStarts: string[];
}

/** The history of a round. */
export interface History extends Readonly<Notes> {
  readonly nodes: number;
  /** Whether the actions process ran between the service and the CRMs. */
  readonly hasActions: boolean;
  readonly attemptsMax: number;
  readonly limits: DeliveryLimits;
  readonly exchanges: readonly Exchange[];
  readonly deliveries: readonly Delivery[];
  /** The dead events that were replayed before the operators' work, with the number of attempts that they had spent. */
  readonly replayed: readonly { eventId: string; spent: number; reason: string | null }[];
  /** When all parts worked again after the last fault. */
  readonly repairedAtMs: number;
  /** Describes events that were still pending or dead at the end; `null` if there were none. */
  readonly undelivered: string | null;
  readonly tables: Tables;
  /** The service's counts of repeats and refusals by key, read after all processes exited cleanly. */
  readonly counted: ReadonlyMap<string, number>;
  /** How often callers and operators ran each operation, by name. */
  readonly operations: Readonly<Record<string, number>>;
  /** Messages about differences from the operators' model; `null` in a round without operators. */
  readonly modelDifferences: readonly string[] | null;
  /** The output of the processes and of PostgreSQL. */
  readonly logs: readonly { readonly name: string; readonly text: string }[];
}

/** Whether a request can be stored. */
export function isPost({ kind }: Pick<Exchange, "kind">): boolean {
  return kind in verdicts;
}

/** The expected spam verdict on each kind of post. */
export const verdicts: Readonly<Record<PostKind, string | null>> = {
  lead: null,
  form: "clean",
  trapped_form: "honeypot",
  spam_form: "spam",
};

/** Returns the members of a JSON response, or none if it is not an object. */
export function membersOf(answer: HttpResponse | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer?.text ?? "");
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

/** Returns the event id in an acknowledgement, or `""`. */
export function acknowledgedId(exchange: Pick<Exchange, "response">): string {
  const { event_id: lead, submission_id: form } = membersOf(exchange.response);
  return String(lead ?? form ?? "");
}
