/**
 * What is watched all through a round: the health that the processes tell, and whether the machine has time for anybody.
 *
 * @module
 */

import { Client } from "./client.ts";
import { nowMs, pause } from "./clock.ts";
import { type Look, membersOf, slowMachine } from "./history.ts";
import type { World } from "./world.ts";

// Between two looks at the health of a process.
const lookMs = 250;
const pulseMs = 250;
const slowMs = 750;

/** Looks at each process's health until the returned function is called. */
export function lookAtHealth(world: World, looks: Look[]): () => Promise<void> {
  let isOver = false;
  const client = new Client({ address: "127.0.1.2", ca: world.authority.pem, isHttp2: false });
  const watch = async (node: number) => {
    const port = world.nodes[node]?.intakePort ?? 0;
    while (!isOver) {
      const sentAtMs = nowMs();
      const answer = await client.send({ port, method: "GET", path: "/healthz", headers: {}, body: "" })
        .catch(() => null);
      const health = answer === null ? null : membersOf(answer) as unknown as Look["health"];
      looks.push({ node, sentAtMs, doneAtMs: nowMs(), status: answer?.status ?? null, health });
      await pause(lookMs);
    }
  };
  const watches = Promise.all(world.nodes.map(({ index }) => watch(index)));
  return async () => {
    isOver = true;
    await watches;
    client.close();
  };
}

/**
 * A small commit of the proof's own now and then, straight to the server. When even that takes long while nothing is done
 * to the server, the machine is at its end, and a service that refuses or is late then has its reason.
 */
export function feelThePulse(world: World): () => Promise<void> {
  let isOver = false;
  const beating = (async () => {
    while (!isOver) {
      const fromMs = nowMs();
      await world.sql`select pg_logical_emit_message(true, 'proof', '')`.catch(() => {});
      await pause(pulseMs);
      const toMs = nowMs();
      if (toMs - fromMs > pulseMs + slowMs) {
        world.happened.push({ kind: slowMachine, node: null, fromMs, toMs, noCommit: null });
      }
    }
  })();
  return async () => {
    isOver = true;
    await beating;
  };
}
