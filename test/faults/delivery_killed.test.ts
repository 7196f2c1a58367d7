/** The service, the actions process and PostgreSQL are killed while leads are accepted and delivered. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import type { Victim } from "../support/faults/delivery_history.ts";
import { actionsStand } from "../support/faults/delivery_stand.ts";
import { Load } from "../support/faults/load.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";

const stand = await actionsStand({ ownPostgres: true });
const { crm, deliveries, intake, smtp, tier } = stand;
assert.ok(stand.postgres);
const { server } = stand.postgres;

// As many leads may be on their way; beyond it the clients wait, so that the end is not all catching up.
const backlogMax = 60;
const clients = 4;

test("every 202 reaches the CRM and the inbox after SIGKILL of the service, the actions process and PostgreSQL at random moments, and what is done twice has the same id", async (t) => {
  const chance = chanceOf(t);
  const keys = [await stand.routed(), await stand.routed()];
  // One service, or two that drain the same store.
  const services: RunningServer[] = [];
  for (let n = chance.below(2); n >= 0; n--) services.push(await stand.start());
  t.diagnostic(`${services.length} services`);
  const load = new Load(t, {
    history: intake,
    chance,
    apiKeys: keys.map((key) => key.text),
    intakeUrls: () =>
      intake.count("accepted") - tier.taken.size > backlogMax ? [] : services.map(({ url }) => url),
    clients,
  });
  // Somewhere between a request's arrival at the tier and the answer to it.
  const moments = {
    request: () => tier.requests.length,
    call: () => crm.calls.length,
    mail: () => smtp.messages.length,
  };
  const kill: Readonly<Record<Victim, () => Promise<void>>> = {
    service: () => {
      const killed = chance.pick(services);
      services.splice(services.indexOf(killed), 1);
      return deliveries.kill("service", {
        end: () => killed.kill(),
        begin: async () => services.push(await stand.start()),
      });
    },
    actions: () =>
      deliveries.kill("actions", { end: () => stand.actions.kill(), begin: () => stand.startActions() }),
    postgres: () =>
      deliveries.kill("postgres", {
        end: async () => {
          server.kill("SIGKILL");
          await server.ended;
        },
        begin: () => server.restart(),
      }),
  };
  const victims: Victim[] = ["service", "actions", "postgres"];
  const turn = chance.below(3);
  for (let round = 1; round <= rounds(3); round++) {
    // Each once, from any of them on; later on, chance alone.
    const victim = round <= 3 ? victims[(round + turn) % 3] as Victim : chance.pick(victims);
    const moment = chance.pick(Object.values(moments));
    const wanted = moment() + 1 + chance.below(40);
    await until(() => moment() >= wanted, {
      deadlineMs: 60_000,
      intervalMs: 1 + chance.below(5),
      what: `round ${round}: traffic before the kill of ${victim}`,
    });
    await kill[victim]();
  }
  const before = tier.taken.size;
  await until(() => tier.taken.size > before + 5, { deadlineMs: 60_000, what: "the deliveries go on" });
  await load.stop();
  await stand.drained(60_000);
  const figures = await deliveries.check({ calls: crm.calls, mails: smtp.messages });
  t.diagnostic(`${intake.summary()}; ${JSON.stringify(figures)}`);
  assert.equal(figures.dead, 0);
  assert.ok(figures.repeats <= figures.inFlightAtKills);
});
