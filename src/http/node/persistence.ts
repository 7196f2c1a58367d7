/**
 * Whether an HTTP/1 connection is kept when an answer has been given.
 *
 * @module
 */

import type { ServerConnection } from "./server_connection.ts";

/** A body up to this length, announced, is thrown away so that the connection can be kept. */
const keptDiscardBytesMax = 256 * 1024;

/** What of a request has not arrived when it is answered. */
interface Unread {
  /** The client waits for a 100 before it sends the body. */
  readonly awaitsContinue: boolean;
  readonly isTooLarge: boolean;
  /** `NaN` when no length was announced. */
  readonly announcedBytes: number;
}

/** The request that is answered; `unread` is `null` when all of it has arrived. */
interface Answered {
  /** Refused before any surface saw it. */
  readonly isRefused: boolean;
  readonly hasUpgrade: boolean;
  readonly unread: Unread | null;
}

/** Whether the next request on the connection can be believed, and is wanted. */
export function isKept(
  connection: Pick<ServerConnection, "isClosing" | "waiting">,
  isDraining: boolean,
  { isRefused, hasUpgrade, unread }: Answered,
): boolean {
  // Behind a request for another protocol node:http throws away what it has read, the beginning of the next request
  // perhaps: what comes then may be the middle of one.
  if (isRefused || hasUpgrade) return false;
  // Those that wait for their turn are still answered.
  if ((isDraining || connection.isClosing) && connection.waiting === 0) return false;
  if (unread === null) return true;
  return !unread.awaitsContinue && !unread.isTooLarge && unread.announcedBytes <= keptDiscardBytesMax;
}
