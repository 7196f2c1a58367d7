/**
 * All parts of a round: PostgreSQL on a small disk, a proxy before it for each service process, the processes, their
 * certificates, whoever stands downstream, and the tenants with their keys.
 *
 * Of the repository's own starters it uses those of the embedded PostgreSQL and of certificates (scripts/); it imports
 * nothing of src/. The tree that is proved may be another one.
 *
 * @module
 */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { denoFlags } from "../../src/settings/deno_flags.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { freePort } from "../free_port.ts";
import type { CertificateFiles } from "../../src/ctl/certificate_files.ts";
import { Authority } from "./certificates.ts";
import { chance } from "./chance.ts";
import { nowMs } from "./clock.ts";
import { as, copyDatabase, openSql, ownTree } from "./database.ts";
import type { Happened, Notes } from "./history.ts";
import type { Plan } from "./plan.ts";
import { PostgresProxy } from "./postgres_proxy.ts";
import { KeptProcess } from "./process.ts";
import { Sink } from "./sink.ts";
import { SmallDisk } from "./small_disk.ts";
import { makeTenants } from "./tenants.ts";

/** Where and how a round is run. */
export interface WorldOptions {
  /** The folder of the tree that is proved. */
  readonly tree: string;
  /** Of the disk that the database is on. */
  readonly diskMegabytes: number;
  /** Of each service process, by index; the last one for all further ones. */
  readonly runtimes: readonly ("node" | "deno")[];
}

/** One service process with what belongs to it. */
export interface ServiceNode {
  readonly index: number;
  readonly process: KeptProcess;
  readonly proxy: PostgresProxy;
  readonly intakePort: number;
  readonly formsPort: number;
  readonly opsPort: number;
  /** Its wall clock is so far off from its next start on. */
  clockOffMs: number;
}

/** Attempts after which an event is dead; few, so that some are. */
export const attemptsMax = 8;
/** How long a delivery waits for its answer. */
export const sendTimeoutMs = 2_500;
/** So that seconds show what takes days. */
const deliverySettings = {
  DELIVERY_SEND_TIMEOUT_MS: String(sendTimeoutMs),
  DELIVERY_LEASE_MS: "7000",
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_BACKOFF_CAP_MS: "1000",
  DELIVERY_ATTEMPTS_MAX: String(attemptsMax),
  DELIVERY_POLL_MS: "500",
  DELIVERY_CONCURRENCY: "16",
};

/** The parts of one round. */
export class World {
  readonly plan: Plan;
  readonly options: WorldOptions;
  readonly folder: string;
  readonly disk: SmallDisk | null;
  readonly server: EmbeddedPostgres;
  readonly authority: Authority;
  readonly databaseUrl: string;
  /** The owner's view; writes even while the server is held to reading. */
  readonly sql: postgres.Sql;
  readonly nodes: ServiceNode[] = [];
  /** Whoever stands downstream and can misbehave. */
  readonly sink: Sink;
  readonly actions: KeptProcess | null;
  readonly listenerPair: CertificateFiles;
  readonly clientPair: CertificateFiles;
  readonly notes: Notes = {
    ...{ tenants: [], keys: [], looks: [], happened: [], ended: [], revoked: [] },
    ...{ beats: [], clockSteps: [], lives: [], unstarted: [] },
  };
  /** The proof itself writes nothing now. */
  isQuiet = false;
  readonly #ports: readonly number[];

  private constructor(
    parts: Pick<World, "plan" | "options" | "folder" | "disk" | "server">,
    ports: readonly number[],
  ) {
    const { plan, server } = parts;
    this.plan = plan;
    this.options = parts.options;
    this.folder = parts.folder;
    this.disk = parts.disk;
    this.server = server;
    this.#ports = ports;
    this.databaseUrl = server.databaseUrl("proof");
    this.sql = openSql(this.databaseUrl);
    this.authority = new Authority(join(parts.folder, "certificates"));
    this.listenerPair = this.authority.make("server");
    this.clientPair = this.authority.make("client");
    const pair = this.authority.make("server");
    const sink = { authority: this.authority, pair, chance: chance(plan.seed ^ 0x51ab) };
    this.sink = new Sink(plan.hasActions ? "customer" : "tier", sink);
    this.actions = plan.hasActions ? this.#actionsProcess(pair) : null;
  }

  /** Sets all of it up and starts it. */
  static async open(plan: Plan, options: WorldOptions): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), "prove-"));
    const disk = SmallDisk.mount(join(folder, "disk"), options.diskMegabytes);
    const home = disk === null ? join(folder, "data") : disk.folder;
    mkdirSync(home, { recursive: true });
    chmodSync(folder, 0o711);
    await copyDatabase(options.tree, home);
    const server = await startPostgres({
      folder: home,
      settings: {
        max_connections: 40 + 20 * plan.nodes,
        shared_buffers: "32MB",
        max_wal_size: "64MB",
        min_wal_size: "32MB",
        // What nobody has waited for stays off the disk, so that a kill shows it.
        wal_writer_delay: "10s",
        wal_writer_flush_after: "1GB",
      },
    });
    const ports: number[] = [];
    while (ports.length < 2 + 3 * plan.nodes) ports.push(await freePort());
    const world = new World({ plan, options, folder, disk, server }, ports);
    try {
      await world.#begin();
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  async #begin(): Promise<void> {
    const { plan, notes } = this;
    await this.sink.open(this.#ports[1] as number);
    const how = chance(plan.seed ^ 0x7e11);
    const { tenants, keys } = await makeTenants(this.sql, {
      ...{ how, crmUrl: `${this.sink.url}/hook`, hasOperators: plan.hasOperators },
    });
    notes.tenants.push(...tenants);
    notes.keys.push(...keys);
    await this.actions?.start();
    for (let index = 0; index < plan.nodes; index += 1) this.nodes.push(await this.#makeNode(index));
    await Promise.all(this.nodes.map(async ({ index, process }) => {
      if (!await process.start()) throw new Error(`Service ${index} does not start:\n${process.log}`);
    }));
  }

  async #makeNode(index: number): Promise<ServiceNode> {
    const [intakePort = 0, formsPort = 0, opsPort = 0] = this.#ports.slice(2 + 3 * index);
    const { options } = this;
    const proxy = await PostgresProxy.open(this.server.port);
    const runtime = options.runtimes[Math.min(index, options.runtimes.length - 1)] ?? "node";
    const env: Record<string, string> = {
      DATABASE_URL: as(proxy.databaseUrl(this.databaseUrl), "proof_service"),
      SURFACES: "intake,forms,ops,delivery",
      INTAKE_LISTEN: `127.0.0.1:${intakePort}`,
      FORMS_LISTEN: `127.0.0.1:${formsPort}`,
      OPS_LISTEN: `127.0.0.1:${opsPort}`,
      TLS_CERT_FILE: this.listenerPair.certFile,
      TLS_KEY_FILE: this.listenerPair.keyFile,
      ACTIONS_URL: this.actions === null ? this.sink.url : `https://127.0.0.1:${this.#ports[0]}`,
      ACTIONS_CA_FILE: this.authority.certFile,
      ACTIONS_CLIENT_CERT_FILE: this.clientPair.certFile,
      ACTIONS_CLIENT_KEY_FILE: this.clientPair.keyFile,
      ...deliverySettings,
    };
    const node: ServiceNode = {
      ...{ index, proxy, intakePort, formsPort, opsPort, clockOffMs: 0 },
      process: new KeptProcess({
        tree: options.tree,
        env: {
          ...env,
          get CLOCK_OFF_MS() {
            return String(node.clockOffMs);
          },
        },
        command: () =>
          runtime === "deno"
            ? [join(ownTree, "node_modules/.bin/deno"), "run", ...denoFlags(env), "src/main.ts"]
            : [process.execPath, ...(node.clockOffMs === 0 ? [] : ["--import", clockOff]), "src/main.ts"],
        onEnd: ({ signal, atMs, endedAtMs, code, started }) => {
          if (signal !== null || started) {
            this.notes.ended.push({ node: index, signal, atMs, endedAtMs, code });
          }
        },
        onStart: (atMs) => this.notes.lives.push({ node: index, atMs }),
      }),
    };
    return node;
  }

  #actionsProcess(pair: CertificateFiles): KeptProcess {
    const env = {
      ACTIONS_LISTEN: `127.0.0.1:${this.#ports[0]}`,
      ACTIONS_DATABASE_URL: as(this.databaseUrl, "proof_actions"),
      ACTIONS_SERVER_CERT_FILE: pair.certFile,
      ACTIONS_SERVER_KEY_FILE: pair.keyFile,
      ACTIONS_CLIENT_CA_FILE: this.authority.certFile,
      ACTIONS_ALLOWED_NETWORKS: "127.0.0.0/8",
      ACTIONS_EFFECT_TIMEOUT_MS: "1200",
      DELIVERY_SEND_TIMEOUT_MS: deliverySettings.DELIVERY_SEND_TIMEOUT_MS,
      NODE_EXTRA_CA_CERTS: this.authority.certFile,
    };
    return new KeptProcess({
      ...{ tree: this.options.tree, env },
      command: () => [process.execPath, "src/actions/main.ts"],
    });
  }

  /** Notes what was done; returns what ends the note. */
  note(kind: string, node: number | null): (noCommit?: Happened["noCommit"]) => void {
    const fromMs = nowMs();
    return (noCommit = null) =>
      void this.notes.happened.push({ kind, node, fromMs, toMs: nowMs(), noCommit });
  }

  /** Whether each process said last that it is healthy, since a moment. */
  isHealthySince(atMs: number): boolean {
    return this.nodes.every(({ index }) => {
      const look = this.notes.looks.findLast(({ node }) => node === index);
      return look?.health?.ok === true && look.sentAtMs > atMs;
    });
  }

  /** What the parts have written. */
  logs(): { name: string; text: string }[] {
    return [
      ...this.nodes.map(({ index, process }) => ({ name: `service ${index}`, text: process.log })),
      ...(this.actions === null ? [] : [{ name: "actions", text: this.actions.log }]),
      { name: "postgres", text: readFileSync(this.server.logFile, "utf8") },
    ];
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map(({ process }) => process.stop()));
    await this.actions?.stop();
    await Promise.all(this.nodes.map(({ proxy }) => proxy.close()));
    await this.sink.close().catch(() => {});
    await this.sql.end({ timeout: 1 }).catch(() => {});
    this.disk?.empty();
    await this.server.stop().catch(() => {});
    this.disk?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const clockOff = fileURLToPath(new URL("clock_off.ts", import.meta.url));
