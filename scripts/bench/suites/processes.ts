/**
 * What a lead costs when several processes of one machine take it: the same leads a second, offered to one, two and four.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import { pace } from "../load/pacer.ts";
import { startService } from "../service.ts";
import type { Program } from "../programs.ts";
import type { Bench, Contender, Group, Measures, Open, Suite } from "../suite.ts";
import { meter } from "../usage.ts";

/** Well below what one process does on two processors, so that each batch is as small as the pace makes it. */
const perSecond = 1_000;
/** Of each process: V8 has compiled what it calls often after so many thousand leads. */
const warmUpSeconds = 6;
const counts = [1, 2, 4] as const;

/** Keys in use at three quarters of their limits, as of partners that send all they may. */
const limitsInUse = { INTAKE_KEY_PER_MINUTE: "5000", INTAKE_KEY_BURST: "1000" };

async function readFigures({ urls }: Program): Promise<(name: string) => number> {
  const text = await (await fetch(`${urls.ops}/metrics`)).text();
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
}

/** Waits until all take part: then each knows of as many nodes. */
async function untilAllAreThere(target: Program, processes: number): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const figure = await readFigures(target).catch(() => () => 0);
    if (figure("lead_limit_nodes") === processes) return;
    await delay(50);
  }
  throw new Error(`Not ${processes} processes`);
}

async function paced(bench: Bench, target: Program, databaseName: string): Promise<Measures> {
  const { options, load, stage } = bench;
  const url = `${target.urls.intake}/v1/intake`;
  const before = await readFigures(target);
  const spent = meter({ service: target.pid, PostgreSQL: stage.pid });
  const { leads, refused } = await pace(url, { load, perSecond, seconds: options.seconds, mayRefuse: true });
  const usage = spent(leads.length, "lead");
  const after = await readFigures(target);
  const since = (name: string) => after(name) - before(name);
  const waitsMs = leads.map(({ dueNs, ackNs }) => (ackNs - dueNs) / 1e6).sort((one, other) => one - other);
  const batches = since("lead_commit_batch_entries_count");
  if (since("lead_commit_batch_entries_sum") < leads.length) {
    throw new Error(`${databaseName}: leads are missing`);
  }
  return {
    ...usage,
    "commits a lead": batches / leads.length,
    "refused of a thousand": refused * 1_000 / (leads.length + refused),
    "limit exchanges a second": since("lead_limit_exchanges_total") / options.seconds,
    "median ms": waitsMs[Math.floor(waitsMs.length / 2)] as number,
    "99th percentile ms": waitsMs[Math.floor(waitsMs.length * 0.99)] as number,
  };
}

const onProcesses =
  (processes: number, env: Readonly<Record<string, string>> = {}): Open => (bench): Contender => ({
    run: () =>
      bench.stage.lend(bench.tree, async ({ name, url }) => {
        const target = await startService(bench, {
          databaseUrl: url,
          name: `service_${processes}`,
          env: { ...env, ...(processes === 1 ? {} : { INTAKE_PROCESSES: String(processes) }) },
        });
        try {
          await untilAllAreThere(target, processes);
          await pace(`${target.urls.intake}/v1/intake`, {
            load: bench.load,
            perSecond,
            seconds: warmUpSeconds * processes,
            mayRefuse: true,
          });
          return await paced(bench, target, name);
        } finally {
          await target.stop();
        }
      }),
  });

function groupOf(what: string, id: string, env: Readonly<Record<string, string>>): Group {
  const name = (processes: number) => `${processes} ${processes === 1 ? "process" : "processes"}, ${what}`;
  const rows = Object.fromEntries(
    counts.slice(1).flatMap((processes) =>
      (["service", "PostgreSQL"] as const).map((whose) =>
        [`${id}_${whose.toLowerCase()}_${processes}`, {
          name: `${what}: processor time a lead of ${whose}, ${processes} processes against one`,
          of: `${whose}, processor µs per lead`,
          unit: "µs",
          ours: name(processes),
          peer: name(1),
          target: { atMost: 1.1 },
        }] as const
      )
    ),
  );
  return {
    rows,
    ours: Object.fromEntries(counts.map((processes) => [name(processes), onProcesses(processes, env)])),
  };
}

/** `npm run bench -- processes`. */
export const processes: Suite = {
  about: "what a lead costs when several processes take it",
  conditions: [
    "one machine for client, service and PostgreSQL; loopback; a fresh database and fresh processes each round, warmed up by 6,000 leads for each",
    `${perSecond} leads/s for each, whoever is asked, in an open loop; processor time from /proc/PID/stat, the parent's included`,
    "limits in use: 16 keys, each at three quarters of its limit, so that all processes lease all of them",
  ],
  groups:
    () => [groupOf("limits out of reach", "free", {}), groupOf("limits in use", "limited", limitsInUse)],
};
