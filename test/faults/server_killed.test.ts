/** Server processes are killed under load. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Load } from "../support/faults/load.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";
import { stand } from "../support/faults/stand.ts";

const { apiKey, databaseUrl, history, servers, intakeUrls, startServer } = await stand();

test("every 202 and 200 is in the store once, with the body as posted, after the server was killed with SIGKILL at random moments under load", async (t) => {
  const chance = chanceOf(t);
  const load = new Load(t, { history, chance, apiKeys: [apiKey.key], intakeUrls, clients: 32 });
  for (let round = 1; round <= rounds(4); round++) {
    const [server] = servers;
    assert.ok(server);
    // An answer to somebody is the moment: others' requests are being read, committed and answered then.
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
