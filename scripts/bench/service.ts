/**
 * The service as it runs in production, and the peers that serve.
 *
 * @module
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { variables } from "../../src/settings/variables.ts";
import { denoFlags } from "../../src/settings/deno_flags.ts";
import { deno, node, type Program, run, startProgram, thisTree, type Tree } from "./programs.ts";

const settings = (pattern: RegExp, value: string) =>
  Object.fromEntries(
    Object.keys(variables).filter((name) => pattern.test(name)).map((name) => [name, value]),
  );

/** Limits so high that they never refuse; they are spent, and shown where they are shown, all the same. */
const raisedLimits = settings(/_(PER_MINUTE|BURST)$/, "999999999");
/** Each surface on a port of its own. */
const listeners = settings(/_LISTEN$/, "127.0.0.1:0");

/** The flags that Node is started with in production, for its memory: those of `npm run service`. */
function productionFlags(folder: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return String(scripts.service).split(" ").filter((word) => /^--[\w-]+=/.test(word));
}

const building = new Map<string, Promise<unknown>>();

/** The one file that a release has, made once a run; of a tree from before there was one, its sources. */
export async function programOf({ folder }: Tree): Promise<string> {
  if (!existsSync(join(folder, "scripts/build.ts"))) return "src/main.ts";
  const built = building.get(folder) ??
    run(node, ["scripts/build.ts"], { cwd: folder, timeoutMs: 60_000 });
  building.set(folder, built);
  await built;
  return "build/programs/service.js";
}

/**
 * Starts the service of the tree as a release has it, with every surface on a port of its own and with limits that never
 * refuse; returns when it has started, or, with `listener`, when that surface listens.
 */
export async function startService(
  { tree, options }: { readonly tree: Tree; readonly options: { readonly runtime: "node" | "deno" } },
  { databaseUrl, env = {}, listener }: {
    readonly databaseUrl: string;
    /** Settings other than the defaults. */
    readonly env?: Readonly<Record<string, string>>;
    readonly listener?: string;
  },
): Promise<Program> {
  const given = { ...listeners, ...raisedLimits, DATABASE_URL: databaseUrl, ...env };
  const command = options.runtime === "deno"
    ? [deno, "run", ...denoFlags(given), "src/main.ts"]
    : [node, ...productionFlags(tree.folder), await programOf(tree)];
  return await startProgram(tree === thisTree ? "service" : "service_other", command, {
    cwd: tree.folder,
    env: given,
    ...(listener === undefined ? {} : { listener }),
  });
}

/** Starts a program of `peers/` by its name. */
export function startPeer(
  name: string,
  settings: Readonly<Record<string, string | number>>,
  args: readonly string[] = [],
): Promise<Program> {
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
  const script = fileURLToPath(new URL(`peers/${name}.mjs`, import.meta.url));
  return startProgram(name, [node, script, ...args], { env: { ...env, NODE_ENV: "production" } });
}
