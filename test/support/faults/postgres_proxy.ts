/** The proxy before PostgreSQL, for the tests of a file: it ends with them. */

import { PostgresProxy } from "../../../scripts/prove/postgres_proxy.ts";
import { atEnd } from "../at_end.ts";

export {
  acceptCall,
  type Fault,
  type Halted,
  type Place,
  places,
} from "../../../scripts/prove/postgres_proxy.ts";
export { PostgresProxy };

/** Opens a proxy before a server on 127.0.0.1. */
export async function openProxy(targetPort: number): Promise<PostgresProxy> {
  const proxy = await PostgresProxy.open(targetPort);
  atEnd(() => proxy.close());
  return proxy;
}
