/** Event ids, which `event_id.sql` generates and which sort by acceptance time. This module is browser compatible. */

/**
 * The length of an id in hex digits: 14 for the time, 4 for the position in the batch, and 20 (80 bits) of random data.
 */
export const eventIdLength = 38;

/**
 * The length of the beginning of an id that lists show and the search accepts. Chosen: 8 digits, which span 17 seconds, and fit
 * on a phone.
 */
export const shortEventIdLength = 8;

// The time is in microseconds since 1970; 14 digits suffice until the year 4253.
const timeLength = 14;

/** Returns an event's acceptance time in milliseconds since 1970, with a fraction. */
export function acceptedMs(eventId: string): number {
  return Number.parseInt(eventId.slice(0, timeLength), 16) / 1_000;
}

/** Returns a text that sorts between the ids from before `ms` (milliseconds since 1970) and all later ids. */
export function eventIdAt(ms: number): string {
  return Math.max(0, Math.floor(ms * 1_000)).toString(16).padStart(timeLength, "0");
}
