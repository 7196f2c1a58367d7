/**
 * The service as it runs in production, and the peers that serve.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { variables } from "../../src/settings/variables.ts";
import { denoFlags } from "../deno_flags.ts";
import { openProfile } from "./profile.ts";
import { deno, node, type Program, startProgram } from "./programs.ts";
import type { Bench } from "./suite.ts";
import { thisTree } from "./tree.ts";

const settings = (pattern: RegExp, value: string) =>
  Object.fromEntries(
    Object.keys(variables).filter((name) => pattern.test(name)).map((name) => [name, value]),
  );

/** Limits so high that they never refuse; they are spent, and shown where they are shown, all the same. */
const raisedLimits = settings(/_(PER_MINUTE|BURST)$/, "999999999");
/** Each surface on a port of its own. */
const listeners = settings(/_LISTEN$/, "127.0.0.1:0");

/** How to start it. */
interface ServiceOptions {
  readonly databaseUrl: string;
  /** Settings other than the defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node. */
  readonly nodeFlags?: readonly string[];
  /** Of its log file, when several of them run. */
  readonly name?: string;
  /** Waits for this surface only. */
  readonly listener?: string;
  /** Instead of limits that never refuse. */
  readonly hasPublishedLimits?: boolean;
}

/** Starts the service of the tree, with every surface on a port of its own. */
export async function startService(
  { tree, options }: Pick<Bench, "tree" | "options">,
  { databaseUrl, env = {}, nodeFlags = [], name = "service", listener, hasPublishedLimits = false }:
    ServiceOptions,
): Promise<Program> {
  const profile = options.profile ? openProfile() : null;
  const given = {
    ...listeners,
    ...(hasPublishedLimits ? {} : raisedLimits),
    DATABASE_URL: databaseUrl,
    ...env,
  };
  const command = options.runtime === "deno"
    ? [deno, "run", ...denoFlags(given), "src/main.ts"]
    : [node, ...nodeFlags, ...profile?.nodeFlags ?? [], "src/main.ts"];
  const program = await startProgram(tree === thisTree ? name : `${name}_other`, command, {
    cwd: tree.folder,
    env: given,
    ...(listener === undefined ? {} : { listener }),
  });
  return {
    ...program,
    async stop() {
      await program.stop();
      profile?.tell();
    },
  };
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
