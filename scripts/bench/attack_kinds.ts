/**
 * What strangers do to the service. They send to this machine's loopback addresses only, a bounded number of connections
 * for a bounded time.
 *
 * @module
 */

import { byConnections } from "./attack_by_connections.ts";
import { byRequests } from "./attack_by_requests.ts";
import type { AttackKind } from "./attack_task.ts";

/** All attacks, by name. */
export const kinds: Readonly<Record<string, AttackKind>> = {
  ...byConnections,
  ...byRequests,
};
