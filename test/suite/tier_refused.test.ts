/**
 * A certificate that either side of the actions tier refuses: no lead may die of it, on either runtime, whenever the
 * refusal comes. Under TLS 1.3 a server refuses the client's when the client's handshake is over.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { Authority, type Issued } from "../support/authority.ts";
import { atEnd } from "../support/at_end.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { World } from "../support/world.ts";

const world = await World.open();
world.expectLogged("breaker");
const on = { databaseUrl: world.database.url };
const authority = new Authority();
const others = new Authority("other authority");
const good = authority.issue({ name: "tier", use: "server" });
const ours = authority.issue({ name: "client", use: "client" });

/** A tier that lets clients of the authority in; `came` are the events that reached it. */
async function openTier(server: Issued, onSecure: (socket: TLSSocket) => void = () => {}) {
  const came: string[] = [];
  const tier = https.createServer({
    ...{ cert: server.cert, key: server.key, ca: authority.pem },
    ...{ requestCert: true, rejectUnauthorized: true },
  }, (request, response) => {
    if (request.method === "PUT") came.push(String(request.url));
    request.resume().on("end", () => response.end("{}"));
  });
  tier.prependListener("secureConnection", onSecure);
  tier.on("tlsClientError", () => {});
  tier.listen(0, "127.0.0.1");
  await once(tier, "listening");
  atEnd(() => {
    tier.close();
    tier.closeAllConnections();
  });
  return { came, port: (tier.address() as AddressInfo).port };
}

const ways: Readonly<
  Record<string, { tier: () => ReturnType<typeof openTier>; client: Issued; cause: RegExp }>
> = {
  "the tier does not know the client's authority": {
    tier: () => openTier(good),
    client: others.issue({ name: "stranger", use: "client" }),
    cause: /^(not_let_in|handshake)$/,
  },
  "the tier cuts a client whose name it does not want": {
    tier: () => openTier(good, (socket) => socket.destroy()),
    client: ours,
    cause: /^not_let_in$/,
  },
  "the tier's certificate has expired": {
    tier: () => openTier(authority.issue({ name: "tier", use: "server", days: -1 })),
    client: ours,
    cause: /^handshake$/,
  },
};

for (const [how, { tier, client, cause }] of Object.entries(ways)) {
  test(`${how}: nothing is sent, no attempt is made or spent, and the lead goes when it is mended`, async () => {
    const tenant = await world.tenant({ sandbox: true });
    const key = await world.issue({ tenant });
    const { came, port } = await tier();
    const node = await world.start({
      ACTIONS_URL: `https://127.0.0.1:${port}`,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: client.certFile,
      ACTIONS_CLIENT_KEY_FILE: client.keyFile,
      DELIVERY_ATTEMPTS_MAX: "1",
    });
    const { json } = await world.intake({
      key: key.text,
      body: { first_name: "Ada", last_name: "L", phone: "5551234567" },
    }, node);
    const told = () => node.logs.find(({ event, state }) => event === "breaker" && state === "open");
    await until(() => told() !== undefined, { what: "the breaker opens" });
    assert.match(String(told()?.cause), cause);
    const { delivery } = await ctl(["lead", "show", json.event_id], on);
    assert.deepEqual([delivery.state, delivery.attempts], ["pending", []]);
    assert.deepEqual(came, []);
    await node.stop();

    const mended = await openTier(good);
    const again = await world.start({
      ACTIONS_URL: `https://127.0.0.1:${mended.port}`,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: ours.certFile,
      ACTIONS_CLIENT_KEY_FILE: ours.keyFile,
      DELIVERY_ATTEMPTS_MAX: "1",
    });
    await until(() => mended.came.includes(`/v1/events/${json.event_id}`), { what: "the lead arrives" });
    await again.stop();
  });
}
