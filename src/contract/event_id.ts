/**
 * What the id of an event tells: it begins with the time of acceptance, so ids sort by it. The database makes them
 * (`sql/functions/event_id.sql`); nothing else knows what they are made of. This module is browser compatible.
 *
 * @module
 */

/** Of an id, in hex digits. Chosen: 14 of the time, 4 of the place in a batch, 20 (80 bits) of chance. */
export const eventIdLength = 38;

// Microseconds since 1970: enough until the year 4253.
const timeLength = 14;

/** When an event was accepted: milliseconds since 1970, with a fraction. */
export function acceptedMs(eventId: string): number {
  return Number.parseInt(eventId.slice(0, timeLength), 16) / 1_000;
}

/** How the ids begin of the events accepted at a time (milliseconds since 1970): they and all later ones come after it. */
export function eventIdAt(ms: number): string {
  return Math.max(0, Math.floor(ms * 1_000)).toString(16).padStart(timeLength, "0");
}
