/**
 * A certificate that either side of the actions tier refuses must not make a lead dead, on either runtime. Under
 * TLS 1.3 the server refuses a client's certificate after the client's handshake; the service waits a moment for
 * that, and a later refusal counts as an attempt (test/delivery/send.tls.test.ts tests the wait).
 */

import assert from "node:assert/strict";
import { test } from "node:test";
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
const openTier = (server: Issued) => Tier.open({ authority, server });

const ways: Readonly<
  Record<string, {
    tier: () => ReturnType<typeof openTier>;
    client: Issued;
    cause: RegExp;
    /** Whether the refusal may come after the wait for it. */
    mayBeLate: boolean;
  }>
> = {
  "the client's certificate is from an unknown CA": {
    tier: () => openTier(good),
    client: others.issue({ name: "stranger", use: "client" }),
    cause: /^(client_rejected|handshake|closed)$/,
    mayBeLate: true,
  },
  "the tier's certificate has expired": {
    tier: () => openTier(authority.issue({ name: "tier", use: "server", days: -1 })),
    client: ours,
    cause: /^handshake$/,
    mayBeLate: false,
  },
};

for (const [how, { tier, client, cause, mayBeLate }] of Object.entries(ways)) {
  test(`${how}: nothing arrives, and the lead is delivered after the fix`, async () => {
    const tenant = await testEnv.tenant({ sandbox: true });
    const key = await testEnv.issue({ tenant });
    const refusing = await tier();
    const node = await testEnv.start({
      ACTIONS_URL: refusing.url,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: client.certFile,
      ACTIONS_CLIENT_KEY_FILE: client.keyFile,
    });
    const { json } = await testEnv.intake({
      key: key.text,
      body: { first_name: "Ada", last_name: "L", phone: "5551234567" },
    }, node);
    const opened = () => node.logs.find(({ event, state }) => event === "breaker" && state === "open");
    await until(() => opened() !== undefined, { what: "the breaker opens" });
    assert.match(String(opened()?.cause), cause);
    // The breaker opens before the lead is released.
    const delivery = await until(async () => {
      const { delivery } = await ctl(["lead", "show", json.event_id], on);
      return delivery.state === "pending" && delivery;
    }, { what: "the lead is pending" });
    if (!mayBeLate) assert.deepEqual(delivery.attempts, [], "no attempt is spent");
    assert.deepEqual(refusing.requests, []);
    await node.stop();

    const fixed = await openTier(good);
    const again = await testEnv.start({
      ACTIONS_URL: fixed.url,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: ours.certFile,
      ACTIONS_CLIENT_KEY_FILE: ours.keyFile,
    });
    await fixed.until(json.event_id);
    await again.stop();
  });
}
