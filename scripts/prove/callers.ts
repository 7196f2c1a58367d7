/**
 * Callers: clients that post as partners and customers' websites do, also at their worst, and note all that they get.
 *
 * @module
 */

import { Caller, type Question } from "./caller.ts";
import { chance } from "./chance.ts";
import { Client } from "./client.ts";
import { nowMs, pause } from "./clock.ts";
import type { Crowd } from "./faults.ts";
import type { Asked, Key, What } from "./history.ts";
import type { World } from "./world.ts";

const lastCaller = 200;
const burstSize = { burst_of_key: 220, burst_of_address: 90 } as const;

/** All callers of a round. */
export class Callers implements Crowd {
  readonly asked: Asked[] = [];
  readonly #world: World;
  readonly #clients = new Map<string, Client>();
  readonly #ca: string;
  #running: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(world: World) {
    this.#world = world;
    this.#ca = world.authority.pem;
  }

  start(): void {
    this.#running = Promise.all(this.#world.plan.callers.map((index) => this.#caller(index)));
  }

  /** Lets each finish what it is at. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  /** Posts some leads when all others have stopped. */
  async postLast(count: number): Promise<void> {
    const last = new Caller(lastCaller, {
      asker: this,
      world: this.#world,
      how: chance(this.#world.plan.seed),
    });
    await Promise.all(Array.from({ length: count }, () => last.post()));
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  #client(address: string): Client {
    let client = this.#clients.get(address);
    if (client === undefined) {
      // The last number of the address decides, so that a seed repeats it.
      client = new Client({ address, ca: this.#ca, isHttp2: Number(address.split(".").at(-1)) % 2 === 1 });
      this.#clients.set(address, client);
    }
    return client;
  }

  async #caller(index: number): Promise<void> {
    const how = chance(this.#world.plan.seed * 31 + index);
    const own = new Caller(index, { asker: this, world: this.#world, how });
    // Not all at once.
    await pause(how.below(this.#world.plan.pauseMs * 2));
    while (!this.#isStopping) {
      await own.act();
      await pause(how.below(this.#world.plan.pauseMs * 2));
    }
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Sends one request and notes it. */
  async ask(about: Question): Promise<Asked> {
    const { key, how, path = "/v1/intake", address = `127.0.0.${2 + about.caller}`, ...rest } = about;
    const node = this.#world.nodes[about.node];
    const asked: Asked = {
      ...{ ...rest, address, keyId: key.id, tenant: key.tenant },
      ...{ sentAtMs: nowMs(), doneAtMs: 0, answer: null, failure: null },
    };
    this.asked.push(asked);
    try {
      asked.answer = await this.#client(address).send({
        port: (path === "/v1/intake" ? node?.intakePort : node?.formsPort) ?? 0,
        ...{ method: "POST", path, body: about.body },
        headers: {
          "Content-Type": "application/json",
          "X-API-Key": key.text,
          ...(about.idempotencyKey === null ? {} : { "Idempotency-Key": about.idempotencyKey }),
        },
        ...(how === undefined ? {} : { how }),
      });
    } catch (error) {
      asked.failure = String((error as { code?: unknown }).code ?? error);
    }
    asked.doneAtMs = nowMs();
    return asked;
  }

  /** Many checks of a key at once: of one that has the published limit, or from an address that has it. */
  async burst(kind: "burst_of_key" | "burst_of_address", node: number): Promise<void> {
    const { keys } = this.#world;
    const isOfKey = kind === "burst_of_key";
    const key = keys.find(({ limit, label }) => isOfKey ? limit !== null : label === "kept") as Key;
    await Promise.all(Array.from({ length: burstSize[kind] }, () =>
      this.ask({
        ...{
          what: "probe" as What,
          caller: -1,
          node,
          key,
          idempotencyKey: null,
          content: "",
          body: "{}",
          expected: {},
        },
        address: isOfKey ? "127.9.0.3" : "127.200.0.3",
      })));
  }
}
