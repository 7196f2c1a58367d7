/**
 * Every number of the kit, once. This module is browser compatible.
 *
 * @module
 */

/** What bounds a call. Times are in milliseconds. */
export const limits = {
  /** Tries that may fail before a call gives up. */
  tries: 5,
  /** More would only hide that the intake is away. */
  triesMax: 100,
  /** One try, from the first packet of connecting to the last byte of the answer. */
  tryTimeoutMs: 20_000,
  /** One call, with its waits. */
  deadlineMs: 120_000,
  /** The longest time that the platform's timers can hold. */
  timeMsMax: 2_147_483_647,
  /** The first wait after a spent try, before jitter; each further one is twice as long. */
  backoffMs: 1_000,
  /** The longest wait that the kit chooses by itself, before jitter. */
  backoffMsMax: 30_000,
  /** The shortest wait after a 429. */
  rateLimitMsMin: 1_000,
  /** An answer's body after transfer decoding. */
  answerBytesMax: 1_048_576,
  /** Interim answers (100, 102, 103) before the one that counts. */
  interimAnswersMax: 20,
  idempotencyKeyLengthMax: 200,
  requestIdLengthMax: 64,
  addressLengthMax: 2_048,
  /** The body of a lead; the intake takes no more. */
  leadBytesMax: 65_536,
} as const;
