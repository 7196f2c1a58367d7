/** A customer's CRM: an HTTPS server that records its requests. */

import type { ServerResponse } from "node:http";
import { openSink, type WebhookCall } from "../../../scripts/mail_catcher/webhook_sink.ts";
import type { Issued } from "../authority.ts";
import { atEnd } from "../at_end.ts";

/** A request received in full. */
export type CrmCall = WebhookCall;

/** A listening CRM. */
export interface CrmSink {
  readonly port: number;
  readonly calls: readonly CrmCall[];
  /** The number of connections accepted so far, including those without a handshake. */
  readonly connections: number;
  /** The number of open connections. */
  readonly open: number;
  /** Sends the response; 204 by default. */
  answer: (response: ServerResponse, call: CrmCall) => void;
}

/** Returns a responder with this status and these headers. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(code, headers).end();
  };
}

/** Starts a CRM on a loopback address. */
export async function startCrm(certificate: Issued, host = "127.0.0.1"): Promise<CrmSink> {
  const calls: CrmCall[] = [];
  let connections = 0;
  let open = 0;
  const { port, close } = await openSink({
    cert: certificate.cert,
    key: certificate.key,
    host,
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
