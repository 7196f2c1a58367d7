/**
 * What a caller hands over with a post, checked before anything is sent. This module is browser compatible.
 *
 * @module
 */

import { MisconfiguredError } from "./errors.ts";
import { limits } from "./limits.ts";

/** HTTP cuts blanks off at both ends: `a:1 ` would be the lead `a:1`. */
const printable = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * The idempotency key of a lead: `namespace:id`. The namespace is your own and keeps your ids apart from those of the
 * customer's other sources; the id is the lead's own and is the same each time it is posted.
 *
 * @throws {MisconfiguredError} when a part is blank, or both have over 200 characters, one that is not printable ASCII, or a blank at an end
 */
export function idempotencyKey(namespace: string, id: string): string {
  if (isBlank(namespace)) throw new MisconfiguredError("The namespace of the idempotency key is blank");
  if (isBlank(id)) throw new MisconfiguredError("The id of the idempotency key is blank");
  return readIdempotencyKey(`${namespace}:${id}`);
}

/** The key as given. @throws {MisconfiguredError} when it is blank, too long or not printable ASCII */
export function readIdempotencyKey(key: unknown): string {
  if (typeof key !== "string" || key.trim() === "") {
    throw new MisconfiguredError("The idempotency key is blank");
  }
  if (key.length > limits.idempotencyKeyLengthMax) {
    throw new MisconfiguredError(
      `The idempotency key has over ${limits.idempotencyKeyLengthMax} characters`,
    );
  }
  if (!printable.test(key)) {
    throw new MisconfiguredError("The idempotency key is not printable ASCII, or has a blank at an end");
  }
  return key;
}

/** The request id as given. @throws {MisconfiguredError} when it is empty, too long or not printable ASCII */
export function readRequestId(id: unknown): string {
  if (typeof id !== "string" || id === "") throw new MisconfiguredError("The request id is empty");
  if (id.length > limits.requestIdLengthMax) {
    throw new MisconfiguredError(`The request id has over ${limits.requestIdLengthMax} characters`);
  }
  if (!printable.test(id)) {
    throw new MisconfiguredError("The request id is not printable ASCII, or has a blank at an end");
  }
  return id;
}

/** A new request id: the kit's name, a dash and 16 random letters and digits. */
export function makeRequestId(kit: string): string {
  const uuid = crypto.randomUUID();
  // What stands between is not all random.
  return `${kit}-${uuid.slice(0, 8)}${uuid.slice(-8)}`;
}

/** A time in milliseconds. @throws {MisconfiguredError} unless it is over 0 and what a timer can hold */
export function readTime(name: string, value: unknown): number {
  if (typeof value === "number" && value > 0 && value <= limits.timeMsMax) return value;
  throw new MisconfiguredError(`${name} is not a number of milliseconds from 1 to ${limits.timeMsMax}`);
}

/** A number of tries. @throws {MisconfiguredError} unless it is a whole number from 1 */
export function readTries(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= limits.triesMax) {
    return value as number;
  }
  throw new MisconfiguredError(`tries is not a whole number from 1 to ${limits.triesMax}`);
}

/** Whether it is no text, or one of white space only. */
function isBlank(value: unknown): boolean {
  return typeof value !== "string" || value.trim() === "";
}
