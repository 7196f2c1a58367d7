/** A customer's CRM: an HTTPS server that records what it is sent. */

import type { ServerResponse } from "node:http";
import { openSink, type WebhookCall } from "../../../scripts/caught/webhook_sink.ts";
import type { Issued } from "../authority.ts";
import { atEnd } from "../at_end.ts";

/** One request that arrived whole. */
export type CrmCall = WebhookCall;

/** A listening CRM. */
export interface CrmSink {
  readonly port: number;
  readonly calls: readonly CrmCall[];
  /** Connections that were opened, handshake or not. */
  readonly connections: number;
  /** Those that are open now. */
  readonly open: number;
  /** How it answers; at first 204. */
  answer: (response: ServerResponse, call: CrmCall) => void;
}

/** An answer with a status and, if need be, headers. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(code, headers).end();
  };
}

/** Starts one on a loopback address. */
export async function startCrm(certificate: Issued, host = "127.0.0.1"): Promise<CrmSink> {
  const calls: CrmCall[] = [];
  let connections = 0;
  let open = 0;
  const { port, close } = await openSink({
    ...{ cert: certificate.cert, key: certificate.key, host },
    onCall: (call, response) => {
      calls.push(call);
      sink.answer(response, call);
    },
    onConnection: (socket) => {
      connections++;
      open++;
      socket.on("close", () => open--);
    },
  });
  atEnd(close);
  const sink: CrmSink = {
    port,
    calls,
    get connections() {
      return connections;
    },
    get open() {
      return open;
    },
    answer: status(204),
  };
  return sink;
}
