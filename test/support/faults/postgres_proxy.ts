/** The proxy in front of PostgreSQL, closed after the tests of a file. */

import { PostgresProxy } from "../../../scripts/prove/postgres_proxy.ts";
import { atEnd } from "../at_end.ts";

export {
  acceptCall,
  type Fault,
  type HaltedConnection,
  type Place,
  places,
} from "../../../scripts/prove/postgres_proxy.ts";
export { PostgresProxy };

/** Opens a proxy in front of a server on 127.0.0.1. */
export async function openProxy(targetPort: number): Promise<PostgresProxy> {
  const proxy = await PostgresProxy.open(targetPort);
  atEnd(() => proxy.close());
  return proxy;
}
