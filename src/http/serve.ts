/**
 * Opens a listener on the runtime's fastest server that can do what is asked.
 *
 * @module
 */

import type { Listener, ListenOptions } from "./options.ts";

/**
 * Listens at `options.address` and answers with the surfaces' routers. Resolves when connections are accepted;
 * throws when the address cannot be bound or the certificate cannot be used.
 *
 * Plain HTTP on Deno is Deno.serve; everything else, TLS on Deno included, is Node's servers.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const runtime = options.runtime ?? ("Deno" in globalThis ? "deno" : "node");
  if (runtime === "deno" && !options.tls) {
    const { serveDeno } = await import("./serve_deno.ts");
    return serveDeno(options);
  }
  const { serveNode } = await import("./serve_node.ts");
  return serveNode(options);
}
