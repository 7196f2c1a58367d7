/** The overview: problems, current figures and history. */

import { type Markup, markup } from "../../http/markup.ts";
import { sumBounded } from "../../store/operator/admin_pool.ts";
import { readOpenCollisions } from "../../store/operator/collisions.ts";
import { readHeldCounts } from "../../store/operator/held.ts";
import { readBacklogs, readOldestWaiting, type TenantBacklog } from "../../store/operator/overview.ts";
import { type Pause, readPauses } from "../../store/operator/pauses.ts";
import { readSuspendedRoutes } from "../../store/operator/route_states.ts";
import { readSourceActivity, sourceRows } from "../../store/operator/sources.ts";
import { Unavailable } from "../../store/pool.ts";
import type { Context } from "./context.ts";
import { type RangeName, ranges, renderHistory } from "./history.ts";
import { type ConsolePage, table, tile } from "./layout.ts";
import { reportTotals } from "./report.ts";
import { parseQuery, queryString } from "./request.ts";
import {
  badge,
  formatBoundedCount,
  formatCount,
  type PageClock,
  pluralize,
  relativeTime,
  tenantLink,
  timeElement,
} from "./text.ts";
import {
  findProblems,
  type Problem,
  type ProcessFacts,
  type StoreFacts,
  tierTile,
  type TierView,
} from "./problems.ts";

// Chosen: opt-in, because reloading disturbs the reader (WCAG 2.2.1), and by a header, because the pages have no scripts.
const refreshSeconds = 30;

/** Renders the page `/`. */
export async function overviewPage(context: Context): Promise<ConsolePage> {
  const { parts, query, clock } = context;
  const form = parseQuery(query, ["range", "refresh"]);
  const range = form.oneOf("range", Object.keys(ranges) as RangeName[]) ?? "1h";
  const refresh = form.oneOf("refresh", ["on"]);
  // Not a copy by spread, which would omit a getter.
  const { writable, pending, dead } = parts.health();
  const process: ProcessFacts = {
    writable,
    pending,
    dead,
    tier: parts.tier(),
    isDraining: parts.isDraining(),
  };
  const stored = await readAll(context, range);
  const problems = findProblems(process, { store: stored?.store ?? null, nowMs: clock.nowMs });
  return {
    status: stored === null ? 503 : 200,
    title: problems.length === 0 ? "All is well" : `${pluralize(problems.length, "problem")}`,
    refreshSeconds: refresh === null ? null : refreshSeconds,
    body: markup`${statusBox(problems, { isRead: stored !== null, tier: process.tier })}
${tiles(process, { store: stored?.store ?? null, clock })}
${stored !== null && tenantTable(stored.store.backlogs, clock)}
<h2>History</h2>
<div class="row"><span>Range:</span>${
      Object.entries(ranges).map(([name, { text }]) =>
        markup`<a class="button${name === range && " main"}"${
          name === range && markup` aria-current="true"`
        } href="/${queryString({ range: name, refresh })}">${text}</a>`
      )
    }
<a href="/${queryString({ range, refresh: refresh === null ? "on" : null })}">${
      refresh === null ? `Refresh every ${refreshSeconds} seconds` : "Stop refreshing"
    }</a></div>
${
      stored === null
        ? markup`<p class="quiet">No history while the store is unavailable.</p>`
        : stored.history
    }`,
  };
}

/** Reads everything from the store; returns `null` if the store is unavailable, because the page must work without it. */
async function readAll(
  { parts, clock }: Context,
  range: RangeName,
): Promise<{ readonly store: StoreFacts; readonly history: Markup } | null> {
  const { pool } = parts;
  try {
    const [backlogs, oldest, suspended, pauses, held, collisions, activity, plots, totalsLine] = await Promise
      .all([
        readBacklogs(pool),
        readOldestWaiting(pool),
        readSuspendedRoutes(pool),
        readPauses(pool, null),
        readHeldCounts(pool, null),
        readOpenCollisions(pool),
        readSourceActivity(pool, { skipsActive: true }),
        renderHistory(pool, { range: ranges[range], clock }),
        reportTotals({ parts, clock }, range === "7d" || range === "30d" ? range : "today"),
      ]);
    return {
      store: { backlogs, oldest, suspended, pauses, held, collisions, sources: sourceRows(activity) },
      history: markup`${totalsLine !== null && markup`<p>${totalsLine}</p>`}${plots}`,
    };
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

function statusBox(
  problems: readonly Problem[],
  { isRead, tier }: { isRead: boolean; tier: TierView },
): Markup {
  if (problems.length === 0 && isRead) {
    const delivering = tier === null
      ? "; this process does not deliver them."
      : tier === "elsewhere"
      ? "; other processes deliver them."
      : " and delivered.";
    return markup`<div class="good status"><h1>All is well</h1><p>Posts are stored${delivering}</p></div>`;
  }
  const isBad = !isRead || problems.some(({ tone }) => tone === "bad");
  return markup`<div class="${isBad ? "bad" : "warn"} status"><h1>${
    problems.length === 0 ? "The store does not respond" : `${pluralize(problems.length, "problem")}`
  }</h1><ul>${
    !isRead &&
    markup`<li><strong>The store does not respond.</strong> The figures are the last known ones.</li>`
  }${problems.map(({ text }) => markup`<li>${text}</li>`)}</ul></div>`;
}

function tiles(
  process: ProcessFacts,
  { store, clock }: { store: StoreFacts | null; clock: PageClock },
): Markup {
  const { writable, pending, dead, tier } = process;
  const tierContents = tierTile(tier);
  const oldest = store?.oldest ?? null;
  return markup`<dl class="tiles">
${tile("Store", writable ? "writable" : "not writable", { tone: writable ? null : "bad" })}
${tile("Actions tier", tierContents.name, tierContents)}
${tile("Waiting", formatCount(pending), { small: "events not yet delivered" })}
${
    tile(
      "Oldest waiting",
      oldest === null ? "–" : relativeTime(oldest.receivedAt, clock.nowMs).replace(" ago", ""),
      {
        small: oldest === null
          ? pending === 0 ? "no events waiting" : "only paused events and events without a route"
          : markup`<a href="/leads/${oldest.eventId}">${oldest.tenant}</a>`,
      },
    )
  }
${
    tile("Dead", formatCount(dead), {
      tone: dead > 0 ? "bad" : null,
      small: markup`<a href="/dead">dead letters</a>`,
    })
  }
${
    tile("Held", store === null ? "?" : formatBoundedCount(store.held.toReview), {
      small: markup`<a href="/held">held as spam, to review</a>${
        store !== null && store.held.honeypotHits.count > 0 &&
        markup`; ${formatBoundedCount(store.held.honeypotHits)} honeypot hits apart`
      }`,
    })
  }
${store !== null && store.pauses.length > 0 && pauseTile(store.pauses)}
</dl>`;
}

/** Shows what is paused, which is no problem, but easily forgotten. */
function pauseTile(pauses: readonly Pause[]): Markup {
  const slugs = [...new Set(pauses.map(({ tenant }) => tenant))];
  const waiting = sumBounded(pauses.map((pause) => pause.waiting));
  const [slug = ""] = slugs;
  return tile("Paused", pluralize(slugs.length, "tenant"), {
    small: markup`<a href="${slugs.length === 1 ? `/tenants/${slug}` : "/tenants"}">${
      slugs.length === 1 ? slug : "tenants"
    }</a>; ${formatBoundedCount(waiting)} ${waiting.count === 1 ? "event waits" : "events wait"}`,
  });
}

function tenantTable(backlogs: readonly TenantBacklog[], clock: PageClock): Markup {
  if (backlogs.length === 0) return markup``;
  return markup`<h2>Tenants that need attention</h2>
${
    table(
      [
        "Tenant",
        "Route",
        ">Waiting",
        "Due",
        ">Dead",
        "View",
      ],
      backlogs.map((backlog) => ({
        cells: [
          tenantLink(backlog.tenant),
          backlog.isPaused
            ? badge("paused")
            : backlog.sandbox
            ? badge("sandbox")
            : backlog.hasRoute
            ? "yes"
            : markup`<span class="badge bad">no route</span>`,
          backlog.waiting.count === 0
            ? "0"
            : markup`<a href="/leads${queryString({ tenant: backlog.tenant, state: "pending" })}">${
              formatBoundedCount(backlog.waiting)
            }</a>`,
          timeElement(backlog.isPaused ? null : backlog.dueSince, clock),
          backlog.dead.count === 0
            ? "0"
            : markup`<a href="/dead${queryString({ tenant: backlog.tenant })}"><strong>${
              formatBoundedCount(backlog.dead)
            }</strong></a>`,
          markup`<a href="/leads${queryString({ tenant: backlog.tenant })}">all leads</a>`,
        ],
      })),
      { label: "Tenants with waiting or dead events, or without a route", empty: markup`` },
    )
  }`;
}
