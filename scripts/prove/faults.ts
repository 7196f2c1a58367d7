/**
 * How each kind of step is done, and undone.
 *
 * @module
 */

import { replacePair } from "./certificates.ts";
import { nowMs, pause } from "./clock.ts";
import type { Happened } from "./history.ts";
import type { Kind, Step } from "./plan.ts";
import { type FaultParts, postgresFaults } from "./postgres_faults.ts";
import type { Place } from "./commit_places.ts";
import type { Manner } from "./sink.ts";
import type { ServiceNode, World } from "./world.ts";

/** What the callers are asked to do. */
export interface Crowd {
  /** Many requests at once, over a limit. */
  burst(kind: "burst_of_key" | "burst_of_address", node: number): Promise<void>;
}

type NoCommit = Happened["noCommit"];

// A statement of the service's comes by this often at least; a cut that has not happened by then never will.
const cutDeadlineMs = 1_500;
const dayMs = 25 * 3_600_000;

/** Does one step, to its end. */
export async function perform(step: Step, world: World, crowd: Crowd): Promise<void> {
  const node = world.nodes[step.node] as ServiceNode;
  const isOfNode = step.lane === "node" || step.lane === "wire";
  const end = world.note(step.kind, isOfNode ? step.node : null);
  let noCommit: NoCommit = null;
  try {
    noCommit = await act(step, { world, node, crowd }) ?? null;
  } finally {
    end(noCommit);
  }
}

type Parts = FaultParts & { readonly crowd: Crowd };
type Fault = (parts: Parts, forMs: number) => Promise<NoCommit | void>;

async function act(step: Step, parts: Parts): Promise<NoCommit | void> {
  const { kind, forMs } = step;
  const { world, node } = parts;
  const [, how, place] = /^(cut|freeze)_(.+)$/.exec(kind) ?? [];
  if (place !== undefined && place !== "all") {
    return await onWire(node, place as Place, how === "cut" ? null : forMs);
  }
  if (kind.startsWith("downstream_")) {
    await world.sink.behave(kind.slice("downstream_".length) as Manner);
    await pause(forMs);
    return void await world.sink.behave("well");
  }
  return await simple[kind]?.(parts, forMs);
}

const simple: Partial<Record<Kind, Fault>> = {
  ...postgresFaults,
  kill: (parts) => endNode(parts, "SIGKILL"),
  terminate: (parts) => endNode(parts, "SIGTERM"),
  async kill_with_clock_off(parts) {
    parts.node.clockOffMs = parts.node.clockOffMs === 0 ? 3_600_000 : 0;
    await endNode(parts, "SIGKILL");
  },
  async stop({ node }, forMs) {
    node.process.signal("SIGSTOP");
    await pause(forMs);
    node.process.signal("SIGCONT");
  },
  async actions_kill({ world }) {
    if (await world.actions?.end("SIGKILL") === false) world.unstarted.push("actions, after a kill");
  },
  async actions_stop({ world }, forMs) {
    world.actions?.signal("SIGSTOP");
    await pause(forMs);
    world.actions?.signal("SIGCONT");
  },

  async cut_all({ node }) {
    await node.proxy.cut();
  },
  async silence_all({ node }, forMs) {
    node.proxy.blackHole();
    await pause(forMs);
  },
  async refuse_new({ node }, forMs) {
    node.proxy.acceptsNew = false;
    await node.proxy.cut();
    await pause(forMs);
    node.proxy.acceptsNew = true;
  },

  async listener_certificate({ world }) {
    const serial = replacePair(world.listenerPair, world.authority.make("server"));
    world.swapped.push({ whose: "listener", atMs: nowMs(), serial });
    await Promise.resolve();
  },
  async delivery_certificate({ world }) {
    const serial = replacePair(world.clientPair, world.authority.make("client"));
    world.swapped.push({ whose: "delivery", atMs: nowMs(), serial });
    await Promise.resolve();
  },

  async revoke({ world }) {
    const gone = new Set(world.revoked.map(({ keyId }) => keyId));
    const key = world.keys.find(({ id, label }) => label.startsWith("spare-") && !gone.has(id));
    if (key === undefined) return;
    const fromMs = nowMs();
    const [row] = await world.sql<{ id: number }[]>`
      update api_key set revoked_at = service_clock() where id = ${key.id} returning id`.catch(() => []);
    if (row === undefined) return;
    const returnedAtMs = nowMs();
    const databaseMs = await databaseNow(world);
    if (databaseMs !== null) world.revoked.push({ keyId: key.id, fromMs, returnedAtMs, databaseMs });
  },
  async day_passes({ world }) {
    const before = world.clockSteps.reduce((sum, { stepMs }) => sum + stepMs, 0);
    const fromMs = nowMs();
    await world.sql.unsafe(
      `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
       as $$ select clock_timestamp() + interval '${(before + dayMs) / 1000} seconds' $$`,
    );
    world.clockSteps.push({ fromMs, toMs: nowMs(), stepMs: dayMs });
  },
  burst_of_key: ({ crowd, node }) => crowd.burst("burst_of_key", node.index),
  burst_of_address: ({ crowd, node }) => crowd.burst("burst_of_address", node.index),
};

async function endNode({ world, node }: Parts, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (!await node.process.end(signal)) world.unstarted.push(`service ${node.index}, after ${signal}`);
}

async function onWire(node: ServiceNode, place: Place, haltMs: number | null): Promise<void> {
  const { proxy } = node;
  if (place === "before_parse") {
    // It comes once a connection.
    const made = proxy.faultOnce({ place, how: haltMs === null ? "reset" : "halt" });
    await proxy.cut();
    return await released(made, proxy, haltMs);
  }
  await released(proxy.faultOnce({ place, how: haltMs === null ? "close" : "halt" }), proxy, haltMs);
}

async function released(
  made: Promise<{ release(): void }>,
  proxy: ServiceNode["proxy"],
  haltMs: number | null,
): Promise<void> {
  const halted = await Promise.race([made, pause(cutDeadlineMs).then(() => null)]);
  proxy.faultNever();
  if (halted === null || haltMs === null) return;
  await pause(haltMs);
  halted.release();
}

async function databaseNow(world: World): Promise<number | null> {
  for (let tries = 0; tries < 100; tries += 1) {
    const rows = await world.sql<{ ms: number }[]>`
      select (extract(epoch from service_clock()) * 1000)::float8 as ms`.catch(() => []);
    if (rows[0] !== undefined) return rows[0].ms;
    await pause(100);
  }
  return null;
}
