/**
 * One server of the cluster: Patroni, and the PostgreSQL that it starts, stops and promotes.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, closeSync, mkdirSync, openSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../postgres_binaries.ts";
import { findProcess, signalProcess } from "../processes.ts";
import type { Wire } from "./wire.ts";

/** Where it is. */
export interface Seat {
  readonly name: string;
  /** Has its settings, its log and, in `data/`, the database. */
  readonly folder: string;
  readonly port: number;
  readonly restPort: number;
  /** To etcd. */
  readonly wire: Wire;
}

/** What all members have in common. */
export interface Common {
  readonly account: Account;
  /** Of the superuser, of replication and of pg_rewind. */
  readonly password: string;
  /** Patroni's `ttl`, `loop_wait` and `retry_timeout`, in seconds. */
  readonly pace: { readonly ttl: number; readonly loopWait: number; readonly retryTimeout: number };
  /** Commits wait also when there is no standby to wait for. */
  readonly isStrict: boolean;
}

const restartMs = 1_000;
const binaries = "/usr/lib/postgresql/15/bin";

/** A server of the cluster. */
export class Member {
  readonly seat: Seat;
  readonly #common: Common;
  #patroni: ChildProcess | undefined;
  #isStopped = false;

  constructor(seat: Seat, common: Common) {
    this.seat = seat;
    this.#common = common;
  }

  /** Writes its settings, and starts Patroni, which starts PostgreSQL. */
  start(): void {
    const { folder } = this.seat;
    const { uid, gid } = this.#common.account;
    mkdirSync(folder, { recursive: true });
    chownSync(folder, uid, gid);
    const settings = join(folder, "patroni.json");
    // YAML takes JSON.
    writeFileSync(settings, JSON.stringify(this.#settings(), null, 2), { mode: 0o600 });
    chownSync(settings, uid, gid);
    const log = openSync(join(folder, "patroni.log"), "a");
    this.#patroni = spawn("patroni", [settings], {
      cwd: folder,
      detached: true,
      stdio: ["ignore", log, log],
      env: { PATH: process.env.PATH ?? "", HOME: folder, LC_ALL: "C.UTF-8" },
      ...{ uid, gid },
    });
    this.#patroni.on("error", () => {});
    // As systemd would: it gives up when etcd is slow to answer its first question.
    this.#patroni.once("exit", (code) => {
      if (code !== null && !this.#isStopped) setTimeout(() => this.start(), restartMs);
    });
    closeSync(log);
  }

  /** From now on Patroni is not started again when it ends. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Kills PostgreSQL, and Patroni with it when asked to. */
  kill(what: "postgres" | "all"): void {
    if (what === "all") this.#patroni?.kill("SIGKILL");
    this.#signal("SIGKILL", what === "all" ? this.seat.folder : join(this.seat.folder, "data"));
  }

  /** Stops all its processes where they stand, as a hung machine would. */
  freeze(): void {
    // Patroni first, so that it starts no further one.
    this.#patroni?.kill("SIGSTOP");
    this.#signal("SIGSTOP", this.seat.folder);
  }

  /** Lets them go on. */
  thaw(): void {
    this.#signal("SIGCONT", this.seat.folder);
  }

  #signal(signal: NodeJS.Signals, folder: string): void {
    for (const pid of processesIn(folder)) signalProcess(pid, signal);
  }

  /** The address of a database on it, for a role. */
  url(database: string, role = "postgres"): string {
    return `postgres://${role}:${this.#common.password}@127.0.0.1:${this.seat.port}/${database}`;
  }

  #settings() {
    const { name, folder, port, restPort, wire } = this.seat;
    const { password, pace, isStrict } = this.#common;
    const login = (username: string) => ({ username, password });
    return {
      scope: "lead",
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      // As a proxy, or Patroni would ask etcd for its own address and go past the wire. By etcd's old protocol: with the
      // new one, Patroni before 3.0.3 lets a primary that was frozen take the lead back from whoever has it by then.
      etcd: { hosts: [`127.0.0.1:${wire.port}`], use_proxies: true },
      bootstrap: {
        dcs: {
          ttl: pace.ttl,
          loop_wait: pace.loopWait,
          retry_timeout: pace.retryTimeout,
          synchronous_mode: true,
          synchronous_mode_strict: isStrict,
          postgresql: { use_pg_rewind: true, use_slots: true },
        },
        initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums"],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: join(folder, "data"),
        bin_dir: binaries,
        pgpass: join(folder, "pgpass"),
        authentication: {
          superuser: login("postgres"),
          replication: login("replicator"),
          rewind: login("rewinder"),
        },
        pg_hba: [
          "host all all 127.0.0.1/32 scram-sha-256",
          "host replication all 127.0.0.1/32 scram-sha-256",
        ],
        parameters: {
          unix_socket_directories: folder,
          shared_buffers: "32MB",
          max_connections: 100,
          wal_keep_size: "256MB",
          // What is lost with a machine is noticed by the one that waits for it.
          wal_sender_timeout: "5s",
          wal_receiver_timeout: "5s",
        },
      },
      watchdog: { mode: "off" },
    };
  }
}

/** The processes whose working folder is a folder or below it. */
export function processesIn(folder: string): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const cwd = readlinkSync(`/proc/${name}/cwd`);
      const isIn = cwd === folder || cwd.startsWith(`${folder}/`);
      return isIn && findProcess(Number(name)) !== undefined ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
