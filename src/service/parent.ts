/**
 * The parent of several processes, each of which is the whole program on a share of the connections. It takes none itself and
 * knows no lead: it starts them, stops them, starts again those that end, and puts their figures together.
 *
 * @module
 */

import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { createServer } from "node:net";
import process from "node:process";
import type { Figure } from "../observe/figures.ts";
import { together } from "../observe/figures.ts";
import type { Log } from "../observe/log.ts";
import { addProcessMeters } from "../observe/process.ts";
import { Registry } from "../observe/registry.ts";
import type { Config } from "../settings/config.ts";
import { seatedDenoFlags } from "../settings/deno_flags.ts";
import { placeText, variableOf } from "../settings/places.ts";
import type { ListenAddress } from "../settings/reader.ts";
import { isServedByAll, type Seat, seatArguments } from "../settings/seat.ts";
import { Member } from "./member.ts";
import type { Notice } from "./notifier.ts";
import type { Running } from "./run.ts";
import type { Condition } from "./supervised.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What the parent works with. */
export interface ParentOptions {
  readonly log: Log;
  /** Of this process; the others get it too. */
  readonly environment: Environment;
  /** Tells systemd something before all is ready. */
  readonly notify: (notice: Notice) => void;
}

const lookMs = 1_000;
// What is under way has its own bound, and closing what is behind it some seconds more (src/service/jobs.ts).
const closeMs = 8_000;

/**
 * Starts the processes and resolves when all accept connections. The first goes ahead: what is wrong with settings or
 * database is said once.
 *
 * @throws {StartRefused} when one of them does not start; it has said why
 */
export async function startParent(config: Config, options: ParentOptions): Promise<Running> {
  const { log, environment, notify } = options;
  const nowMs = () => performance.now();
  const registry = new Registry();
  const stopMeters = addProcessMeters(registry, { nowMs, lastFailure: config.lastFailure });
  const addresses = await sharedAddresses(config);
  const descriptors = [...config.sockets.values()].flat();
  const members: Member[] = [];
  const figures = async (): Promise<readonly Figure[]> =>
    together([...await Promise.all(members.map((member) => member.figures())), registry.figures()]);
  for (let number = 1; number <= config.processes; number += 1) {
    members.push(
      new Member({
        number,
        of: config.processes,
        spawn: (seat) => startProgram(seat, { ...environment, ...addresses }, descriptors),
        whileStarting: notify,
        askAll: figures,
        log,
        nowMs,
      }),
    );
  }
  // Whoever ends this process at once wants all of them to end.
  process.once("exit", () => {
    for (const member of members) member.kill();
  });
  const [first, ...others] = members as [Member, ...Member[]];
  try {
    await first.start();
    await Promise.all(others.map((member) => member.start()));
  } catch (error) {
    stopMeters();
    for (const member of members) member.kill();
    throw error;
  }
  const looking = setInterval(() => {
    for (const member of members) member.look();
  }, lookMs);
  return {
    condition: () => conditionOf(members),
    async close(graceMs) {
      clearInterval(looking);
      stopMeters();
      await Promise.all(members.map((member) => member.stop(graceMs + closeMs)));
    },
  };
}

/** How all of them are: ready when each has been, alive while none hangs that should have ended. */
function conditionOf(members: readonly Member[]): Condition {
  const away = members.filter(({ isUp }) => !isUp);
  const [first] = members as readonly [Member];
  return {
    isReady: members.every(({ isReady }) => isReady),
    isAlive: members.every(({ isStuck }) => !isStuck),
    status: away.length === 0
      ? `${members.length} processes, ${first.status}`
      : `${members.length - away.length} of ${members.length} processes; ${
        away.map(({ number, status }) => `process ${number} ${status}`).join("; ")
      }`,
  };
}

/**
 * The addresses on which all listen, as settings, each with the port that it has. Several sockets on one address keep no
 * other program away as one alone does, so this looks first whether anybody else has it.
 */
async function sharedAddresses(config: Config): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const seen = new Set<string>();
  for (const name of config.surfaces) {
    if (!isServedByAll(config, name)) continue;
    const { listen } = config[name];
    if ("socket" in listen || (listen.port !== 0 && seen.has(placeText(listen)))) continue;
    seen.add(placeText(listen));
    const free = await freeAddress(listen);
    found[variableOf(name)] = placeText(free);
  }
  return found;
}

function freeAddress({ host, port }: ListenAddress): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    // Deno does not say which address it was.
    probe.once("error", (error) => reject(Object.assign(error, { address: host, port })));
    probe.listen({ host, port, backlog: 1 }, () => {
      const bound = probe.address() as { port: number };
      probe.close(() => resolve({ host, port: bound.port }));
    });
  });
}

/** Starts this program once more, as it was started itself, in its place and with the sockets where they are here. */
function startProgram(seat: Seat, environment: Environment, descriptors: readonly number[]): ChildProcess {
  const [runtime = "", program = ""] = process.argv;
  const flags = process.versions.deno === undefined
    ? process.execArgv
    : ["run", ...seatedDenoFlags(environment)];
  // Not by their numbers: Deno would have the socket block, for every process that has it.
  const sockets = Array.from(
    { length: Math.max(0, ...descriptors.map((fd) => fd - 2)) },
    (_, at) => descriptors.includes(at + 3) ? "inherit" as const : "ignore" as const,
  );
  const stdio: StdioOptions = ["ignore", "inherit", "inherit", ...sockets, "ipc"];
  return spawn(runtime, [...flags, program, ...seatArguments(seat)], { stdio, env: { ...environment } });
}
