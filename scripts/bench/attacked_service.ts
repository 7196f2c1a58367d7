/**
 * The service under attack, on either runtime, in one process or several.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { makeKey } from "../../src/contract/api_key.ts";
import { denoFlags } from "../deno_flags.ts";
import { start, stop } from "./children.ts";
import type { Database } from "./stage.ts";
import { buildFolder } from "./targets.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const probe = fileURLToPath(new URL("loop_probe.ts", import.meta.url));
const startTimeoutMs = 20_000;

/** What it is given to read. */
export interface ServiceFiles {
  /** `null`: it speaks plain HTTP. */
  readonly certificates: {
    readonly cert: string;
    readonly key: string;
    readonly ca: string;
  } | null;
  readonly siteDir: string;
}

/** How it runs. */
export interface ServiceOptions {
  readonly runtime: "node" | "deno";
  /** The public reads and the operator's pages have processes of their own. */
  readonly isApart: boolean;
}

/** The service under attack: one process, or one for the intake and others for what stands beside it. */
export interface Service {
  readonly urls: Readonly<Record<string, string>>;
  /** The process that takes the leads. */
  readonly intake: number;
  readonly pids: readonly number[];
  /** Where the intake's process writes its turns. */
  readonly turnsFile: string;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startService(
  { certificates, siteDir }: ServiceFiles,
  database: Database,
  { runtime, isApart }: ServiceOptions,
): Promise<Service> {
  const parts = isApart ? ["intake,forms", "subscription,site", "ops"] : [""];
  const started = await Promise.all(parts.map(async (surfaces, index) => {
    const logFile = join(buildFolder, `attacked_${index}.log`);
    const env = {
      LOOP_PROBE_FILE: `${logFile}.turns`,
      SURFACES: surfaces,
      DATABASE_URL: database.url,
      ...Object.fromEntries(
        ["INTAKE", "FORMS", "SUBSCRIPTION", "SITE", "OPS"].map((
          name,
        ) => [`${name}_LISTEN`, "127.0.0.1:0"]),
      ),
      SITE_DIR: siteDir,
      // Loopback is exempt unless it is set.
      CONNECTIONS_PER_ADDRESS: "256",
      ...(certificates === null ? {} : { TLS_CERT_FILE: certificates.cert, TLS_KEY_FILE: certificates.key }),
    };
    const child = runtime === "node"
      ? start(process.execPath, [`--import=${probe}`, "src/main.ts"], {
        cwd: root,
        env,
        logFile,
      })
      : start(join(root, "node_modules/.bin/deno"), [
        "run",
        ...denoFlags(env),
        "src/main.ts",
      ], {
        cwd: root,
        env,
        logFile,
      });
    const deadlineMs = performance.now() + startTimeoutMs;
    const lines = () => readFileSync(logFile, "utf8").split("\n").filter((line) => line.startsWith("{"));
    while (!lines().some((line) => line.includes('"event":"started"'))) {
      if (child.exitCode !== null || performance.now() > deadlineMs) {
        throw new Error(
          `The service did not start:\n${readFileSync(logFile, "utf8").slice(0, 2_000)}`,
        );
      }
      await delay(20);
    }
    const urls = lines().map((line) => JSON.parse(line)).filter(({ event }) => event === "listening")
      .map(({ surface, url }): [string, string] => [surface, url]);
    return { child, urls };
  }));
  const [first] = started as [(typeof started)[number]];
  return {
    urls: Object.fromEntries(started.flatMap(({ urls }) => urls)),
    intake: first.child.pid as number,
    pids: started.map(({ child }) => child.pid as number),
    turnsFile: join(buildFolder, "attacked_0.log.turns"),
    stop: async () => {
      await Promise.all(started.map(({ child }) => stop(child)));
    },
  };
}

/** A form of the first tenant, and a key for it. */
export async function addForm({ sql }: Database): Promise<string> {
  const key = makeKey(
    { surface: "forms", sandbox: false },
    (bytes) => getRandomValues(bytes),
  );
  const digest = createHash("sha256").update(key).digest("hex");
  await sql`insert into form (tenant_id, form_key, required, blocked) values (1, 'contact', ${[
    "name",
  ]}, ${[]})`;
  await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (1, 'forms', 'web', decode(${digest}, 'hex'), ${key.slice(-4)})`;
  return key;
}
