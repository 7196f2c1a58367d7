/** Tests killing server processes under load. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Load } from "../support/faults/load.ts";
import { randomOf } from "../support/faults/random.ts";
import { fixture } from "../support/faults/fixture.ts";

const { apiKey, databaseUrl, history, servers, intakeUrls, startServer } = await fixture();

test("every 202 and 200 is stored once, with the body as posted, after random SIGKILLs under load", async (t) => {
  const chance = randomOf(t);
  const load = new Load(t, { history, chance, apiKeys: [apiKey.text], intakeUrls, clients: 32 });
  for (let round = 1; round <= 4; round++) {
    const [server] = servers;
    assert.ok(server);
    // After some responses, while other requests are being read and committed.
    await load.accepted(1 + chance.below(200));
    await server.kill("SIGKILL");
    await startServer();
  }
  await load.accepted(20);
  await load.stop();
  t.diagnostic(history.summary());
  assert.ok(history.count("no_answer") > 0, "some requests were under way when the server was killed");
  await history.check(databaseUrl);
});
