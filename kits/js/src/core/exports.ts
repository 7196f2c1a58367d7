/**
 * What every kit of this core gives to its user. This module is browser compatible.
 *
 * @module
 */

export { idempotencyKey } from "./arguments.ts";
export type { Acknowledgement, CallOptions, ClientSettings, IntakeClient, KeyCheck } from "./client.ts";
export type { Clock } from "./clock.ts";
export {
  type CallFacts,
  CancelledError,
  InvalidLeadError,
  LeadsError,
  type LeadsErrorKind,
  MisconfiguredError,
  RefusedError,
  UnauthorizedError,
  UnavailableError,
} from "./errors.ts";
export type { Acknowledged } from "./judge.ts";
export type { Lead } from "./lead.ts";
export { version } from "./version.ts";
export type { Area, Vocabulary } from "./vocabulary.ts";
export type { CallName, LeadsEvent, Observer, TryEvent, WaitEvent } from "./watch.ts";
