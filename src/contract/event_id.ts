/** Event ids, which sort by acceptance time; made by `event_id.sql`. This module is browser compatible. */

/** Length in hex digits: 14 for the time, 4 for the place in the batch, 20 (80 bits) random. */
export const eventIdLength = 38;

// Microseconds since 1970, until the year 4253.
const timeLength = 14;

/** The acceptance time of an event, in milliseconds since 1970, with a fraction. */
export function acceptedMs(eventId: string): number {
  return Number.parseInt(eventId.slice(0, timeLength), 16) / 1_000;
}

/** The prefix of ids accepted at a time (milliseconds since 1970); those ids and all later ones sort after it. */
export function eventIdAt(ms: number): string {
  return Math.max(0, Math.floor(ms * 1_000)).toString(16).padStart(timeLength, "0");
}
