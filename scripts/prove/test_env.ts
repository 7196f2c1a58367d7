/**
 * All parts of a round: PostgreSQL on a small disk, a proxy to it for each service process, the processes, their
 * certificates, the downstream sink, and the tenants with their keys.
 *
 * The source tree under test may differ from the one that contains this file.
 *
 * @module
 */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { denoFlags } from "../deno_flags.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { freePort } from "../free_port.ts";
import type { CertificateFiles } from "../../src/ctl/certificate_files.ts";
import { Authority } from "./certificates.ts";
import { seededRandom } from "./random.ts";
import { nowMs } from "./clock.ts";
import { copyDatabase, openSql, ownTree, withRole } from "./database.ts";
import type { Notes, PerformedStep } from "./history.ts";
import { type DeliveryLimits, limitsOf } from "./delivery_limits.ts";
import type { Plan } from "./plan.ts";
import { PostgresProxy } from "./postgres_proxy.ts";
import { SupervisedProcess } from "./process.ts";
import { Sink } from "./sink.ts";
import { SmallDisk } from "./small_disk.ts";
import { makeTenants } from "./tenants.ts";

export interface TestEnvOptions {
  /** The root of the source tree under test. */
  readonly tree: string;
  /** The size of the database's disk. */
  readonly diskMegabytes: number;
  /** The runtime of each service process by index; the last one also applies to all further processes. */
  readonly runtimes: readonly ("node" | "deno")[];
  /** Gets a line for each step of the round, so that a slow machine's progress shows. */
  readonly report?: (line: string) => void;
}

/** A service process with its proxy and ports. */
export interface ServiceNode {
  readonly index: number;
  readonly process: SupervisedProcess;
  readonly proxy: PostgresProxy;
  readonly intakePort: number;
  readonly formsPort: number;
  readonly opsPort: number;
  readonly plansPort: number;
  /** The wall-clock offset that the process gets at its next start. */
  clockOffMs: number;
}

/** The maximum number of attempts, low enough that some events end up as dead letters. */
export const attemptsMax = 8;
/** The secret that signs the links in digests. */
export const linkSecret = "the secret that signs the links of the proof";
/** Shortens backoff and leases to seconds. */
const deliverySettings = ({ sendMs, claimMs }: DeliveryLimits) => ({
  DELIVERY_SEND_TIMEOUT_MS: String(sendMs),
  DELIVERY_LEASE_MS: String(claimMs),
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_BACKOFF_CAP_MS: "1000",
  DELIVERY_ATTEMPTS_MAX: String(attemptsMax),
  DELIVERY_POLL_MS: "500",
  DELIVERY_CONCURRENCY: "16",
});

/** The parts of one round. */
export class TestEnv {
  readonly plan: Plan;
  readonly options: TestEnvOptions;
  readonly folder: string;
  readonly disk: SmallDisk | null;
  readonly server: EmbeddedPostgres;
  readonly authority: Authority;
  readonly databaseUrl: string;
  /** The owner's connections, which can write even while the server is read-only. */
  readonly sql: postgres.Sql;
  readonly nodes: ServiceNode[] = [];
  readonly sink: Sink;
  readonly actions: SupervisedProcess | null;
  readonly listenerPair: CertificateFiles;
  readonly clientPair: CertificateFiles;
  readonly notes: Notes = {
    tenants: [],
    keys: [],
    healthChecks: [],
    performed: [],
    exits: [],
    revocations: [],
    heartbeats: [],
    clockSteps: [],
    starts: [],
    failedStarts: [],
  };
  /** Whether the proof's heartbeat commits are paused. */
  isQuiet = false;
  readonly #ports: readonly number[];

  private constructor(
    parts: Pick<TestEnv, "plan" | "options" | "folder" | "disk" | "server">,
    ports: number[],
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
    this.listenerPair = this.authority.issue("server");
    this.clientPair = this.authority.issue("client");
    const pair = this.authority.issue("server");
    const sink = { authority: this.authority, pair, random: seededRandom(plan.seed ^ 0x51ab) };
    this.sink = new Sink(plan.hasActions ? "customer" : "tier", sink);
    this.actions = plan.hasActions ? this.#actionsProcess(pair) : null;
  }

  /** Sets up and starts all parts. */
  static async open(plan: Plan, options: TestEnvOptions): Promise<TestEnv> {
    const folder = mkdtempSync(join(tmpdir(), "prove-"));
    const disk = SmallDisk.mount(join(folder, "disk"), options.diskMegabytes);
    const dataFolder = disk === null ? join(folder, "data") : disk.folder;
    mkdirSync(dataFolder, { recursive: true });
    chmodSync(folder, 0o711);
    await copyDatabase(options.tree, dataFolder);
    const server = await startPostgres({
      folder: dataFolder,
      settings: {
        max_connections: 40 + 20 * plan.nodes,
        shared_buffers: "32MB",
        max_wal_size: "64MB",
        min_wal_size: "32MB",
        // Delays the flush of asynchronous commits, so that a kill loses them.
        wal_writer_delay: "10s",
        wal_writer_flush_after: "1GB",
      },
    });
    const ports: number[] = [];
    while (ports.length < 2 + 4 * plan.nodes) ports.push(await freePort());
    const testEnv = new TestEnv({ plan, options, folder, disk, server }, ports);
    try {
      await testEnv.#start();
    } catch (error) {
      await testEnv.close();
      throw error;
    }
    return testEnv;
  }

  async #start(): Promise<void> {
    const { plan, notes } = this;
    await this.sql`select`;
    // The driver does not await its query for array types, so losing the connection would cause an unhandled rejection.
    this.sql.options.fetch_types = false;
    await this.sink.open(this.#ports[1] as number);
    const random = seededRandom(plan.seed ^ 0x7e11);
    const { tenants, keys } = await makeTenants(this.sql, {
      random,
      crmUrl: this.sink.url,
      hasOperators: plan.hasOperators,
    });
    notes.tenants.push(...tenants);
    notes.keys.push(...keys);
    await this.actions?.start();
    for (let index = 0; index < plan.nodes; index += 1) this.nodes.push(await this.#makeNode(index));
    await Promise.all(this.nodes.map(async ({ index, process }) => {
      if (!await process.start()) throw new Error(`Service ${index} did not start:\n${process.log}`);
    }));
  }

  async #makeNode(index: number): Promise<ServiceNode> {
    const [intakePort = 0, formsPort = 0, opsPort = 0, plansPort = 0] = this.#ports.slice(2 + 4 * index);
    const { options } = this;
    const proxy = await PostgresProxy.open(this.server.port);
    const runtime = options.runtimes[Math.min(index, options.runtimes.length - 1)] ?? "node";
    const env: Record<string, string> = {
      DATABASE_URL: withRole(proxy.databaseUrl(this.databaseUrl), "proof_service"),
      SURFACES: "intake,forms,ops,subscription,delivery",
      INTAKE_LISTEN: `127.0.0.1:${intakePort}`,
      FORMS_LISTEN: `127.0.0.1:${formsPort}`,
      OPS_LISTEN: `127.0.0.1:${opsPort}`,
      SUBSCRIPTION_LISTEN: `127.0.0.1:${plansPort}`,
      TLS_CERT_FILE: this.listenerPair.certFile,
      TLS_KEY_FILE: this.listenerPair.keyFile,
      ACTIONS_URL: this.actions === null ? this.sink.url : `https://127.0.0.1:${this.#ports[0]}`,
      ACTIONS_CA_FILE: this.authority.certFile,
      ACTIONS_CLIENT_CERT_FILE: this.clientPair.certFile,
      ACTIONS_CLIENT_KEY_FILE: this.clientPair.keyFile,
      FORMS_LINK_SECRET: linkSecret,
      ...deliverySettings(limitsOf(this.plan)),
    };
    const node: ServiceNode = {
      index,
      proxy,
      intakePort,
      formsPort,
      opsPort,
      plansPort,
      clockOffMs: 0,
      process: new SupervisedProcess({
        tree: options.tree,
        env: {
          ...env,
          get CLOCK_OFFSET_MS() {
            return String(node.clockOffMs);
          },
        },
        command: () =>
          runtime === "deno"
            ? [join(ownTree, "node_modules/.bin/deno"), "run", ...denoFlags(env), "src/main.ts"]
            : [
              process.execPath,
              ...(node.clockOffMs === 0 ? [] : ["--import", clockOffsetModule]),
              "src/main.ts",
            ],
        onEnd: ({ signal, atMs, endedAtMs, code, hasStarted }) => {
          if (signal !== null || hasStarted) {
            this.notes.exits.push({ node: index, signal, atMs, endedAtMs, code });
          }
        },
        onStart: (atMs) => this.notes.starts.push({ node: index, atMs }),
      }),
    };
    return node;
  }

  #actionsProcess(pair: CertificateFiles): SupervisedProcess {
    const { sink } = this;
    const { effectMs, sendMs } = limitsOf(this.plan);
    const env = {
      get SMTP_URL() {
        return sink.smtpUrl;
      },
      MAIL_FROM: "leads@proof.example",
      ACTIONS_LISTEN: `127.0.0.1:${this.#ports[0]}`,
      ACTIONS_DATABASE_URL: withRole(this.databaseUrl, "proof_actions"),
      ACTIONS_SERVER_CERT_FILE: pair.certFile,
      ACTIONS_SERVER_KEY_FILE: pair.keyFile,
      ACTIONS_CLIENT_CA_FILE: this.authority.certFile,
      ACTIONS_ALLOWED_NETWORKS: "127.0.0.0/8",
      ACTIONS_EFFECT_TIMEOUT_MS: String(effectMs),
      DELIVERY_SEND_TIMEOUT_MS: String(sendMs),
      NODE_EXTRA_CA_CERTS: this.authority.certFile,
    };
    return new SupervisedProcess({
      tree: this.options.tree,
      env,
      command: () => [process.execPath, "src/actions/main.ts"],
    });
  }

  /** Starts a step and returns the function that ends and records it. */
  recordStep(kind: string, node: number | null): (noCommit?: PerformedStep["noCommit"]) => void {
    const fromMs = nowMs();
    this.options.report?.(kind);
    return (noCommit = null) =>
      void this.notes.performed.push({ kind, node, fromMs, toMs: nowMs(), noCommit });
  }

  /** Whether each process's last health check was sent after `atMs` and reported ok. */
  isHealthySince(atMs: number): boolean {
    return this.nodes.every(({ index }) => {
      const check = this.notes.healthChecks.findLast(({ node }) => node === index);
      return check?.health?.ok === true && check.sentAtMs > atMs;
    });
  }

  /** Returns the output of the processes and of PostgreSQL. */
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

const clockOffsetModule = fileURLToPath(new URL("shift_clock.ts", import.meta.url));
