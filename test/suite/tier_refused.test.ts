/**
 * A certificate that either side of the actions tier refuses must not make a lead dead, on either runtime. Under
 * TLS 1.3 the server refuses a client's certificate after the client's handshake.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { Authority, type Issued } from "../support/authority.ts";
import { Tier } from "../support/faults/tier.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
testEnv.expectLogged("breaker");
const on = { databaseUrl: testEnv.database.url };
const authority = new Authority();
const others = new Authority("other authority");
const good = authority.issue({ name: "tier", use: "server" });
const ours = authority.issue({ name: "client", use: "client" });

/** Opens a tier that accepts clients of the authority. */
const openTier = (server: Issued, onSecure?: (socket: TLSSocket) => void) =>
  Tier.open({ authority, server, ...(onSecure === undefined ? {} : { onSecure }) });

const ways: Readonly<
  Record<string, { tier: () => ReturnType<typeof openTier>; client: Issued; cause: RegExp }>
> = {
  "the client's certificate is from an unknown CA": {
    tier: () => openTier(good),
    client: others.issue({ name: "stranger", use: "client" }),
    cause: /^(client_rejected|handshake)$/,
  },
  "the tier closes the connection after the handshake": {
    tier: () => openTier(good, (socket) => socket.destroy()),
    client: ours,
    cause: /^client_rejected$/,
  },
  "the tier's certificate has expired": {
    tier: () => openTier(authority.issue({ name: "tier", use: "server", days: -1 })),
    client: ours,
    cause: /^handshake$/,
  },
};

for (const [how, { tier, client, cause }] of Object.entries(ways)) {
  test(`${how}: nothing is sent, no attempt is spent, and the lead is delivered after the fix`, async () => {
    const tenant = await testEnv.tenant({ sandbox: true });
    const key = await testEnv.issue({ tenant });
    const refusing = await tier();
    const node = await testEnv.start({
      ACTIONS_URL: refusing.url,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: client.certFile,
      ACTIONS_CLIENT_KEY_FILE: client.keyFile,
      DELIVERY_ATTEMPTS_MAX: "1",
    });
    const { json } = await testEnv.intake({
      key: key.text,
      body: { first_name: "Ada", last_name: "L", phone: "5551234567" },
    }, node);
    const opened = () => node.logs.find(({ event, state }) => event === "breaker" && state === "open");
    await until(() => opened() !== undefined, { what: "the breaker opens" });
    assert.match(String(opened()?.cause), cause);
    const { delivery } = await ctl(["lead", "show", json.event_id], on);
    assert.deepEqual([delivery.state, delivery.attempts], ["pending", []]);
    assert.deepEqual(refusing.requests, []);
    await node.stop();

    const fixed = await openTier(good);
    const again = await testEnv.start({
      ACTIONS_URL: fixed.url,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: ours.certFile,
      ACTIONS_CLIENT_KEY_FILE: ours.keyFile,
      DELIVERY_ATTEMPTS_MAX: "1",
    });
    await fixed.until(json.event_id);
    await again.stop();
  });
}
