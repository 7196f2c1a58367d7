/**
 * What a request costs our HTTP client, in processor time, beside undici, node:https and node:http2.
 *
 * @module
 */

import type { OutboundTask } from "../delivery/outbound_main.ts";
import { startSink } from "../delivery/sink.ts";
import { runClient } from "../programs.ts";
import type { Open, Row, Suite } from "../suite.ts";

const requests = 20_000;

const client = (client: string): Open => async ({ certificates, options }) => {
  const sink = await startSink(certificates);
  const task: OutboundTask = {
    client,
    url: sink.url,
    certificates,
    requests: options.quick ? requests / 10 : requests,
  };
  return {
    run: async () => ({
      "processor µs per request": await runClient<number>(
        "delivery/outbound_main.ts",
        task,
        60,
        options.runtime,
      ),
    }),
    close: () => sink.stop(),
  };
};

const row = (peer: string): Row => ({
  name: `processor time of a request of our HTTP client against ${peer}`,
  of: "processor µs per request",
  ours: "ours",
  peer,
  // A library that costs at most a fifth more would take its place.
  target: { atMost: 0.83 },
});

const names = ["undici request", "undici dispatch", "node:https", "node:http2"];

/** `npm run bench -- outbound`. */
export const outbound: Suite = {
  about: "our HTTP client against libraries",
  hasPackages: true,
  defaults: { rounds: 7 },
  conditions: [
    "PUTs of a lead of a kilobyte over mutual TLS to one sink, 64 in flight on kept connections, over HTTP/2 on one; each client a process of its own",
    `${requests} requests a round, after as many that warm it up`,
  ],
  groups: () => [{
    rows: Object.fromEntries(names.map((name) => [name.replace(/\W/, "_"), row(name)])),
    ours: { ours: client("ours") },
    peers: Object.fromEntries(names.map((name) => [name, client(name)])),
  }],
};
