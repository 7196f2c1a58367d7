/**
 * How the operator's statements tell a time.
 *
 * @module
 */

/** For `to_char(… at time zone 'UTC', …)`: ISO 8601 in UTC, to the millisecond. */
export const isoTime = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
