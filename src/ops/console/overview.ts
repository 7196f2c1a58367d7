/** The first page: is it well, what needs a person, and how it went. */

import { type Markup, markup, type Value } from "../../http/markup.ts";
import { readOpenCollisions } from "../../store/operator/collisions.ts";
import { countHeld } from "../../store/operator/held.ts";
import { readBacklogs, readOldestWaiting, type TenantBacklog } from "../../store/operator/overview.ts";
import { readSourceActivity } from "../../store/operator/report.ts";
import { Unavailable } from "../../store/pool.ts";
import { sourceRows } from "../report_rows.ts";
import type { Context } from "./context.ts";
import { history, type RangeName, ranges } from "./history.ts";
import { type ConsolePage, table } from "./layout.ts";
import { totals } from "./report.ts";
import { parseQuery, queryOf } from "./request.ts";
import { badge, boundedText, count, counted, type PageClock, relative, time } from "./text.ts";
import {
  type Problem,
  problemsOf,
  type ProcessFacts,
  type ShownTier,
  type StoreFacts,
  tierTile,
} from "./problems.ts";

// Chosen: only when it is asked for, because a page that changes under its reader is for nobody's benefit but a wall's
// (WCAG 2.2.1), and by a header, because the pages have no scripts.
const refreshSeconds = 30;

/** `/` */
export async function overviewPage(context: Context): Promise<ConsolePage> {
  const { parts, query, clock } = context;
  const form = parseQuery(query, ["range", "refresh"]);
  const range = form.word("range", Object.keys(ranges) as RangeName[]) ?? "1h";
  const refresh = form.word("refresh", ["on"]);
  const process: ProcessFacts = {
    ...pick(parts.health()),
    tier: parts.tier(),
    isDraining: parts.isDraining(),
  };
  const read = await readAll(context, range);
  const problems = problemsOf(process, { store: read?.store ?? null, nowMs: clock.nowMs });
  return {
    status: read === null ? 503 : 200,
    title: problems.length === 0 ? "All is well" : `${counted(problems.length, "problem")}`,
    refreshSeconds: refresh === null ? null : refreshSeconds,
    body: markup`${statusBox(problems, { isRead: read !== null, tier: process.tier })}
${tiles(process, { store: read?.store ?? null, clock })}
${read !== null && tenants(read.store.backlogs, clock)}
<h2>How it went</h2>
<div class="row"><span>Range:</span>${
      Object.entries(ranges).map(([name, { text }]) =>
        markup`<a class="button${name === range && " main"}"${
          name === range && markup` aria-current="true"`
        } href="/${queryOf({ range: name, refresh })}">${text}</a>`
      )
    }
<a href="/${queryOf({ range, refresh: refresh === null ? "on" : null })}">${
      refresh === null ? `Refresh every ${refreshSeconds} seconds` : "Stop refreshing"
    }</a></div>
${
      read === null
        ? markup`<p class="quiet">Nothing can be read while the store is unavailable.</p>`
        : read.history
    }`,
  };
}

function pick({ writable, pending, dead }: Omit<ProcessFacts, "tier" | "isDraining">) {
  return { writable, pending, dead };
}

/** What the store says; `null` when it does not answer: this page is for just that moment. */
async function readAll(
  { parts, clock }: Context,
  range: RangeName,
): Promise<{ readonly store: StoreFacts; readonly history: Markup } | null> {
  const { pool } = parts;
  try {
    const [backlogs, oldest, held, collisions, activity, past, sums] = await Promise.all([
      readBacklogs(pool),
      readOldestWaiting(pool),
      countHeld(pool, { tenantId: null, verdict: "spam" }),
      readOpenCollisions(pool),
      readSourceActivity(pool),
      history(pool, { range: ranges[range], clock }),
      totals({ parts, clock }, range === "7d" || range === "30d" ? range : "today"),
    ]);
    return {
      store: { backlogs, oldest, held, collisions, sources: sourceRows(activity) },
      history: markup`${sums !== null && markup`<p>${sums}</p>`}${past}`,
    };
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

function statusBox(
  problems: readonly Problem[],
  { isRead, tier }: { isRead: boolean; tier: ShownTier },
): Markup {
  if (problems.length === 0 && isRead) {
    const delivering = tier === null
      ? "; this process delivers nothing."
      : tier === "elsewhere"
      ? "; other processes deliver it."
      : ", and what is stored is delivered.";
    return markup`<div class="good status"><h1>All is well</h1><p>What is posted is stored${delivering}</p></div>`;
  }
  const isBad = !isRead || problems.some(({ tone }) => tone === "bad");
  return markup`<div class="${isBad ? "bad" : "warn"} status"><h1>${
    problems.length === 0 ? "The store does not answer" : `${counted(problems.length, "problem")}`
  }</h1><ul>${
    !isRead &&
    markup`<li><strong>The store does not answer this page.</strong> The figures are the last that are known.</li>`
  }${problems.map(({ text }) => markup`<li>${text}</li>`)}</ul></div>`;
}

function tiles(
  process: ProcessFacts,
  { store, clock }: { store: StoreFacts | null; clock: PageClock },
): Markup {
  const { writable, pending, dead, tier } = process;
  const shownTier = tierTile(tier);
  const oldest = store?.oldest ?? null;
  return markup`<dl class="tiles">
${tile("Store", writable ? "writable" : "not writable", { tone: writable ? null : "bad" })}
${tile("Actions tier", shownTier.name, shownTier)}
${tile("Waiting", count(pending), { small: "events not delivered yet" })}
${
    tile(
      "Oldest waiting",
      oldest === null ? "–" : relative(oldest.receivedAt, clock.nowMs).replace(" ago", ""),
      {
        small: oldest === null
          ? pending === 0 ? "nothing waits for its delivery" : "nothing waits that has a route"
          : markup`<a href="/leads/${oldest.eventId}">${oldest.tenant}</a>`,
      },
    )
  }
${
    tile("Dead", count(dead), {
      tone: dead > 0 ? "bad" : null,
      small: markup`<a href="/dead">dead letters</a>`,
    })
  }
${
    tile("Held", store === null ? "?" : boundedText(store.held), {
      small: markup`<a href="/held">held as spam, to review</a>`,
    })
  }
</dl>`;
}

function tile(
  name: string,
  value: string,
  { tone = null, small = null }: { tone?: "bad" | "warn" | null; small?: Value } = {},
): Markup {
  return markup`<div${tone !== null && markup` class="${tone}"`}><dt>${name}</dt><dd>${value}${
    small !== null && markup`<small>${small}</small>`
  }</dd></div>`;
}

function tenants(backlogs: readonly TenantBacklog[], clock: PageClock): Markup {
  if (backlogs.length === 0) return markup``;
  return markup`<h2>Tenants to look at</h2>
${
    table(
      [
        "Tenant",
        "Route",
        ">Waiting",
        "Due",
        ">Dead",
        "See",
      ],
      backlogs.map((one) => ({
        cells: [
          one.tenant,
          one.sandbox
            ? badge("sandbox")
            : one.hasRoute
            ? "yes"
            : markup`<span class="badge bad">no route</span>`,
          one.waiting.count === 0
            ? "0"
            : markup`<a href="/leads${queryOf({ tenant: one.tenant, state: "pending" })}">${
              boundedText(one.waiting)
            }</a>`,
          time(one.dueSince, clock),
          one.dead.count === 0
            ? "0"
            : markup`<a href="/dead${queryOf({ tenant: one.tenant })}"><strong>${
              boundedText(one.dead)
            }</strong></a>`,
          markup`<a href="/leads${queryOf({ tenant: one.tenant })}">all its leads</a>`,
        ],
      })),
      { label: "Tenants with something waiting or dead, or without a route", empty: markup`` },
    )
  }`;
}
