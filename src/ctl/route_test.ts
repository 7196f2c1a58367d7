/**
 * `ctl tenant route SLUG --test`: an invented event through the real actions process, and what came back.
 *
 * @module
 */

import type { RouteScope } from "#src/store/delivery/effects.ts";
import { noteRouteTest } from "#src/store/delivery/routes.ts";
import { effectName } from "#src/store/operator/event_effects.ts";
import type { Pool } from "#src/store/pool.ts";
import { findActions, postToActions } from "./actions_tier.ts";
import { Refused, type Reply, type Surroundings } from "./command.ts";
import { safe, table } from "./terminal.ts";

/** One recipient's, as the actions process tells it. */
interface Result {
  readonly effect: string;
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
  readonly duration_ms: number;
}

// More than the longest bound that an effect can be given, which the actions process keeps by itself.
const timeoutMs = 130_000;

/**
 * Has the actions process try the routes of a scope, and notes it in the audit.
 *
 * @throws {Refused} when nothing could be tried
 */
export async function testRoute(
  pool: Pool,
  surroundings: Surroundings,
  { tenant, scope, whose }: {
    readonly tenant: string;
    readonly scope: RouteScope;
    /** The scope in words, for a refusal. */
    readonly whose: string;
  },
): Promise<Reply> {
  const access = findActions(surroundings);
  const { status, json } = await postToActions(access, {
    path: "/v1/tests",
    body: { tenant, ...scope },
    timeoutMs,
  });
  if (json?.error === "no_route") {
    throw new Refused(`Nothing to try: no route takes what comes from ${whose}`);
  }
  if (status !== 200 || !Array.isArray(json?.results)) {
    throw new Refused(
      `The actions process answered ${status}${
        typeof json?.error === "string" ? ` ${safe(json.error)}` : ""
      }; nothing was sent. Has it this version, and this database?`,
    );
  }
  const results: Result[] = json.results;
  const failures = results.filter(({ outcome }) => outcome === "failed");
  await noteRouteTest(pool, tenant, { scope, sent: results.length, failed: failures.length });
  return {
    json: { tenant, ...json },
    isBad: failures.length > 0,
    text: [
      table(results, "", {
        "TO": ({ effect, target }) => `${effectName(effect)} ${target}`,
        "OUTCOME": ({ outcome, reason }) => reason === null ? outcome : `${outcome}: ${reason}`,
        ">STATUS": ({ status }) => status === null ? "-" : String(status),
        ">TIME": (one) => `${one.duration_ms} ms`,
        "ANSWER": ({ answer }) => answer ?? "",
      }),
      `Sent as event ${json.event_id}, which is stored nowhere.`,
    ].join("\n\n"),
  };
}
