/**
 * A cluster of three PostgreSQL servers that fails over by itself: Patroni and etcd, with HAProxy in front, all on
 * loopback and in a temporary folder. For `node scripts/cluster/main.ts` and the tests.
 *
 * One etcd and not three: what it decides is Patroni's business; a member that is cut off from it is cut off from all.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { freePort } from "../free_port.ts";
import { serverAccount } from "../postgres_binaries.ts";
import { signalProcess } from "../processes.ts";
import { postWatchdog } from "../watchdog.ts";
import { startEtcd, startProxy } from "./daemons.ts";
import { type Common, Member, processesIn } from "./member.ts";
import { Wire } from "./wire.ts";

/** How to start it. */
export interface ClusterOptions {
  readonly pace?: Common["pace"];
  readonly isStrict?: boolean;
}

/** What Patroni says of a member. */
interface Standing {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
  readonly lag?: number | string;
}

const paceDefault: Common["pace"] = { ttl: 10, loopWait: 1, retryTimeout: 3 };
const startMs = 180_000;
const names = ["one", "two", "three"] as const;

/** A cluster that runs. */
export class Cluster {
  readonly members: readonly Member[];
  readonly folder: string;
  readonly #wires: readonly Wire[];
  readonly #proxyPort: number;

  private constructor(
    { folder, members, wires, proxyPort }: {
      folder: string;
      members: readonly Member[];
      wires: readonly Wire[];
      proxyPort: number;
    },
  ) {
    this.folder = folder;
    this.members = members;
    this.#wires = wires;
    this.#proxyPort = proxyPort;
  }

  /** Starts it and returns when it is whole: one primary, two standbys, one of them synchronous. */
  static async start({ pace = paceDefault, isStrict = true }: ClusterOptions = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), "lead-cluster-"));
    const account = serverAccount(folder) ??
      { name: "", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    chownSync(folder, account.uid, account.gid);
    // Every process of the cluster works in this folder.
    postWatchdog(endAll, { args: [folder] });
    const etcdPort = await freePort();
    await startEtcd(join(folder, "etcd"), { port: etcdPort, account });
    const wires = await Promise.all(names.map(() => Wire.open(etcdPort)));
    const common: Common = { account, pace, isStrict, password: randomBytes(12).toString("hex") };
    const members: Member[] = [];
    for (const [index, name] of names.entries()) {
      const seat = { name, folder: join(folder, name), port: await freePort(), restPort: await freePort() };
      members.push(new Member({ ...seat, wire: wires[index] as Wire }, common));
    }
    const proxyPort = await freePort();
    startProxy(join(folder, "haproxy"), { port: proxyPort, members, account });
    const cluster = new Cluster({ folder, members, wires, proxyPort });
    for (const member of members) member.start();
    await cluster.whole();
    return cluster;
  }

  /** `host:port` of all servers. */
  get servers(): string {
    return this.members.map(({ seat }) => `127.0.0.1:${seat.port}`).join(",");
  }

  /** `host:port` of HAProxy, which passes connections on to the primary. */
  get proxy(): string {
    return `127.0.0.1:${this.#proxyPort}`;
  }

  /** What Patroni says of all; empty while none of it answers. */
  async standing(): Promise<readonly Standing[]> {
    for (const { seat } of this.members) {
      try {
        const answer = await fetch(`http://127.0.0.1:${seat.restPort}/cluster`, {
          signal: AbortSignal.timeout(2_000),
        });
        const { members } = await answer.json() as { members: Standing[] };
        return members;
      } catch {
        // The next one.
      }
    }
    return [];
  }

  /** The primary, by Patroni. */
  async primary(): Promise<Member> {
    const leader = (await this.standing()).find(({ role }) => role === "leader");
    const member = this.members.find(({ seat }) => seat.name === leader?.name);
    if (member === undefined) throw new Error("The cluster has no primary");
    return member;
  }

  /** Waits until there are one primary and two standbys that follow it, one of them synchronous. */
  async whole(): Promise<void> {
    const untilMs = performance.now() + startMs;
    while (performance.now() < untilMs) {
      const all = await this.standing();
      const leader = all.find(({ role }) => role === "leader");
      const followers = all.filter(({ role, timeline }) =>
        role !== "leader" && timeline === leader?.timeline
      );
      const isWhole = leader?.state === "running" && followers.length === 2 &&
        followers.every(({ state, lag }) => /running|streaming/.test(state) && Number(lag) < 1_000_000) &&
        followers.some(({ role }) => role === "sync_standby");
      if (isWhole && await this.#streams(leader.name)) return;
      await delay(100);
    }
    throw new Error(`The cluster is not whole: ${JSON.stringify(await this.standing())}; see ${this.folder}`);
  }

  async #streams(name: string): Promise<boolean> {
    const member = this.members.find(({ seat }) => seat.name === name) as Member;
    return await withSql(member.url("postgres"), async (sql) => {
      const rows = await sql`select from pg_stat_replication where state = 'streaming'`;
      const [sync] = await sql`select from pg_stat_replication where sync_state in ('sync', 'quorum')`;
      return rows.length === 2 && sync !== undefined;
    }).catch(() => false);
  }

  /** `patronictl switchover`, to any of the standbys that may be. Returns what it said. */
  async switchOver(): Promise<string> {
    const primary = await this.primary();
    const settings = join(primary.seat.folder, "patroni.json");
    const child = spawn("patronictl", [
      "-c",
      settings,
      "switchover",
      "lead",
      "--master",
      primary.seat.name,
      "--force",
    ], {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8", LANG: "C.UTF-8" },
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => said += text);
    }
    const code = await new Promise((settle) => child.once("close", settle));
    if (code !== 0) throw new Error(`patronictl switchover: ${said}`);
    return said;
  }

  /** Ends everything and removes the folder. */
  async stop(): Promise<void> {
    for (const member of this.members) member.stop();
    for (const wire of this.#wires) wire.close();
    for (let round = 0; processesIn(this.folder).length > 0 && round < 100; round += 1) {
      for (const pid of processesIn(this.folder)) signalProcess(pid, "SIGKILL");
      await delay(50);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Does it again until it is done: a busy machine may fail over by itself, and then the primary is another one. */
export async function again<T>(work: () => Promise<T>): Promise<T> {
  for (const untilMs = performance.now() + startMs;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await delay(200);
    }
  }
}

/** Runs statements on a connection of their own, which is given up after a few seconds. */
export async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, connect_timeout: 3, onnotice: () => {}, fetch_types: false });
  const late = delay(5_000, undefined, { ref: false }).then(() => {
    throw new Error("no answer");
  });
  try {
    return await Promise.race([work(sql), late]);
  } finally {
    late.catch(() => {});
    await sql.end({ timeout: 0 }).catch(() => {});
  }
}

// When we are gone: whatever works in our folder.
const endAll = `
  for round in 1 2 3 4 5; do
    for process in /proc/[0-9]*; do
      case "$(readlink "$process/cwd")/" in "$1"/*) kill -s KILL "\${process#/proc/}";; esac
    done
    sleep 0.2
  done
  rm -rf -- "$1"`;
