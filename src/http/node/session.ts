/**
 * Keeps an HTTP/2 session of Deno from ending the process.
 *
 * @module
 */

import type { ServerHttp2Session } from "node:http2";

/**
 * Lets a session be closed and destroyed in the loop's next turn only. On Deno 2.9.6 a client's GOAWAY closes or
 * destroys the session while nghttp2 is still reading that frame, and with an answer larger than the window under
 * way the process died of it: of 20 clients that took 150 KB each and left, some always did (SIGABRT in
 * `find_stream_on_goaway_func`, or SIGSEGV). Nothing changes on Node.
 */
export function deferEnds(session: ServerHttp2Session): void {
  if (!("Deno" in globalThis)) return;
  const close = session.close.bind(session);
  const destroy = session.destroy.bind(session);
  session.close = (callback) => void setImmediate(close, callback);
  session.destroy = (error, code) => void setImmediate(destroy, error, code);
}
