/**
 * What a call can end with when it does not end well. This module is browser compatible.
 *
 * No error holds the key, the lead, or what a stranger's answer said: not in its message, its stack, its cause or its
 * own properties.
 *
 * @module
 */

/** What went wrong, and so what to do. */
export type LeadsErrorKind =
  | "unauthorized"
  | "invalid_lead"
  | "refused"
  | "unavailable"
  | "cancelled"
  | "misconfigured";

/** What every error tells of the call. */
export interface CallFacts {
  /** The HTTP status of the last try's answer; `null` where none came. */
  readonly status: number | null;
  /** The `error` of the last try's answer; `null` where none came or it was not the intake's. */
  readonly code: string | null;
  /** What that answer says is wrong, in a sentence for people; `null` where it says nothing. */
  readonly detail: string | null;
  /** The `X-Request-Id` that was sent, for the log and for support; `null` when nothing was sent. */
  readonly requestId: string | null;
  /** Spent tries. A 429 adds none. */
  readonly tries: number;
  /**
   * Whether the lead may have been accepted all the same: bytes of the post went out and no answer of the intake
   * came. A later post with the same idempotency key finds out, and doubles nothing.
   */
  readonly unknownOutcome: boolean;
}

/** The facts of a call that sent nothing. */
export const nothingSent: CallFacts = {
  status: null,
  code: null,
  detail: null,
  requestId: null,
  tries: 0,
  unknownOutcome: false,
};

/**
 * Any failure of a call. Tell them apart by `kind`, or by class with `instanceof`.
 *
 * Names are written out: a bundler that shortens those of classes must not change what a log says.
 */
export abstract class LeadsError extends Error implements CallFacts {
  /** What went wrong, and so what to do. */
  abstract readonly kind: LeadsErrorKind;
  /** The HTTP status of the last try's answer; `null` where none came. */
  readonly status: number | null;
  /** The `error` of the last try's answer; `null` where none came or it was not the intake's. */
  readonly code: string | null;
  /** The `X-Request-Id` that was sent; `null` when nothing was. */
  readonly requestId: string | null;
  /** Spent tries. A 429 adds none. */
  readonly tries: number;
  /** Whether the lead may have been accepted all the same: post it again with the same idempotency key. */
  readonly unknownOutcome: boolean;
  readonly #detail: string | null;

  /** Made by the kit, and by tests of what you do about it. */
  constructor(message: string, facts: CallFacts) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.tries = facts.tries;
    this.unknownOutcome = facts.unknownOutcome;
    this.#detail = facts.detail;
  }

  /**
   * What the last try's answer says is wrong, in a sentence for people; `null` where it says nothing. Do not parse it.
   * It stands in no message and no log, because a stranger's answer could hold anything.
   */
  get detail(): string | null {
    return this.#detail;
  }
}

/** 401: the key is unknown, revoked, or belongs to another address. Alert a person. */
export class UnauthorizedError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "unauthorized";
  static {
    this.prototype.name = "UnauthorizedError";
  }
  /** Made by the kit, and by tests of what you do about it. */
  constructor(facts: CallFacts) {
    super(`The key was not accepted: alert a person${tail(facts)}`, facts);
  }
}

/** 422: correct the lead and post it with the same idempotency key, which was not used up. */
export class InvalidLeadError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "invalid_lead";
  static {
    this.prototype.name = "InvalidLeadError";
  }
  readonly #fields: Readonly<Record<string, string>>;
  /** Made by the kit, and by tests of what you do about it. */
  constructor(facts: CallFacts, fields: Readonly<Record<string, string>>) {
    super(`The lead is invalid${failing(fields)}${tail(facts)}`, facts);
    this.#fields = fields;
  }

  /** Each failing field and its reason (`required`, `too_long`, `out_of_range`). */
  get fields(): Readonly<Record<string, string>> {
    return this.#fields;
  }
}

/** An answer that must not be repeated as it is: read `status` and `code`. */
export class RefusedError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "refused";
  static {
    this.prototype.name = "RefusedError";
  }
  /** Made by the kit, and by tests of what you do about it. */
  constructor(facts: CallFacts, why = "The post was refused") {
    super(`${why}${tail(facts)}`, facts);
  }
}

/** Tries or deadline are spent: try later, with the same idempotency key. */
export class UnavailableError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "unavailable";
  static {
    this.prototype.name = "UnavailableError";
  }
  /** Made by the kit, and by tests of what you do about it. */
  constructor(facts: CallFacts, reason: string | null) {
    const why = reason === null ? "" : `, last with ${reason}`;
    super(`The intake is unavailable${why}: try later with the same idempotency key${tail(facts)}`, facts);
  }
}

/** The caller's signal ended the call: as for `unavailable`, it may be made again with the same idempotency key. */
export class CancelledError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "cancelled";
  static {
    this.prototype.name = "CancelledError";
  }
  /** Made by the kit, and by tests of what you do about it. */
  constructor(facts: CallFacts) {
    super(`The call was cancelled${tail(facts)}`, facts);
  }
}

/** A key, address or argument that cannot be right, found before anything was sent: mend it. */
export class MisconfiguredError extends LeadsError {
  /** Tells it from the other errors. */
  override readonly kind = "misconfigured";
  static {
    this.prototype.name = "MisconfiguredError";
  }
  /** Made by the kit, and by tests of what you do about it. */
  constructor(message: string) {
    super(message, nothingSent);
  }
}

/** Status, code and request id, in brackets, as far as they are known. */
function tail({ status, code, requestId, tries }: CallFacts): string {
  const parts = [
    ...(status === null ? [] : [code === null ? `${status}` : `${status} ${code}`]),
    ...(tries === 0 ? [] : [tries === 1 ? "1 try" : `${tries} tries`]),
    ...(requestId === null ? [] : [`request ${requestId}`]),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

const envelope = new Set(
  ("first_name last_name phone email street_address city state zip country project_area project_service " +
    "project_material project_details external_id cost").split(" "),
);
const reasons = new Set(["required", "too_long", "out_of_range"]);

/** The documented among the failing fields: another name or reason may be part of a lead. */
function failing(fields: Readonly<Record<string, string>>): string {
  const known = Object.entries(fields).filter(([name, reason]) => envelope.has(name) && reasons.has(reason));
  return known.length === 0 ? "" : `: ${known.map((entry) => entry.join(" ")).join(", ")}`;
}
