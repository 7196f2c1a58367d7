/** Lists the API keys with their status, and the unknown fields that a key's source sends. */

import { keyPrefix } from "../../contract/api_key.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { likelyField } from "../../lead/misspelling.ts";
import { type ListedKey, listKeys, readUnknownFields } from "../../store/operator/api_keys.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table, type TableRow } from "./layout.ts";
import { parseQuery, selectedTenant, tenantFilter } from "./request.ts";
import {
  formatCount,
  type PageClock,
  pluralize,
  safeText,
  shownOf,
  tenantLink,
  timeElement,
} from "./text.ts";
import { notFound } from "./wrong_id.ts";

const listedMax = 1_000;
// Chosen: a key that is unused for 30 days, or still unused a week after its issue, is either broken or not needed.
const staleMs = 30 * 86_400_000;
const unusedMs = 7 * 86_400_000;

type KeyStatus = "exposed" | "in use" | "new" | "stale" | "never used" | "suspended" | "revoked";

function keyStatus(key: ListedKey, clock: PageClock): KeyStatus {
  if (key.revokedAt !== null) return "revoked";
  if (key.suspendedAt !== null) return "suspended";
  if (key.isExposed) return "exposed";
  if (key.lastUsedAt !== null) return clock.nowMs - Date.parse(key.lastUsedAt) > staleMs ? "stale" : "in use";
  return clock.nowMs - Date.parse(key.createdAt) > unusedMs ? "never used" : "new";
}

const statusOrder: readonly KeyStatus[] = [
  "exposed",
  "stale",
  "never used",
  "in use",
  "new",
  "suspended",
  "revoked",
];

/** Renders the page `/keys`. */
export async function keysPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await selectedTenant(parts.pool, parseQuery(query, ["tenant"]));
  return {
    title: "Keys",
    body: markup`<h1>Keys</h1>
<p>To issue, limit or revoke keys, use the command: <code>ctl key issue TENANT --label LABEL</code>,
<code>ctl key limit ID …</code>, <code>ctl key revoke ID</code>.</p>
${await tenantFilter(parts.pool, "/keys", tenant.slug)}
${keyTable(await listKeys(parts.pool, tenant.id), { clock, tenant: tenant.slug })}`,
  };
}

/** Renders keys, those that need attention first, with what to do about them; `tenant`: the only tenant's slug, if any. */
export function keyTable(
  listed: readonly ListedKey[],
  { clock, tenant }: { readonly clock: PageClock; readonly tenant: string | null },
): Markup {
  const keys = listed.map((key) => ({ key, status: keyStatus(key, clock) }))
    .sort((a, b) => statusOrder.indexOf(a.status) - statusOrder.indexOf(b.status));
  const unusedCount = keys.filter(({ status }) => status === "stale" || status === "never used").length;
  return markup`${
    unusedCount > 0 &&
    markup`<p><strong>${
      pluralize(unusedCount, "key")
    }</strong> unused for 30 days, or never used: ask whether the source still sends leads, and revoke keys that are not
needed.</p>`
  }${
    keys.some(({ status }) => status === "exposed") &&
    markup`<p class="bad message">An exposed key was sent in a URL, and logs contain URLs. Issue a new key, then revoke the exposed one.</p>`
  }${
    table(
      [
        "Id",
        "Status",
        ...(tenant === null ? ["Tenant"] : []),
        "Label (source)",
        "Key",
        "Campaign",
        "Last used",
        "Issued",
      ],
      keys.slice(0, listedMax).map(({ key, status }) => keyRow(key, { status, clock, tenant })),
      {
        label: "Keys",
        empty: markup`No keys${
          tenant !== null && markup` for this tenant`
        }. To issue one, run <code>ctl key issue ${tenant ?? "TENANT"} --label LABEL</code>.`,
        caption: shownOf(keys.length, listedMax),
      },
    )
  }`;
}

function keyRow(
  key: ListedKey,
  { status, clock, tenant }: {
    readonly status: KeyStatus;
    readonly clock: PageClock;
    readonly tenant: string | null;
  },
): TableRow {
  const isUnused = status === "stale" || status === "never used";
  const { limit } = key;
  const inactiveSince = key.revokedAt ?? key.suspendedAt;
  return {
    className: isUnused ? "stale" : status === "revoked" || status === "suspended" ? "off" : undefined,
    cells: [
      markup`<a href="/keys/${key.id}">${key.id}</a>`,
      markup`<span class="badge ${
        isUnused ? "warn" : status === "in use" ? "good" : status === "exposed" ? "bad" : ""
      }">${status}</span>${inactiveSince !== null && markup`<br>${timeElement(inactiveSince, clock)}`}`,
      ...(tenant === null ? [tenantLink(key.tenant)] : []),
      markup`${safeText(key.label)}${
        limit !== null &&
        markup`<br><span class="badge warn">limit raised</span> ${
          formatCount(limit.perMinute)
        } per minute, burst ${formatCount(limit.burst)}, until ${timeElement(limit.until, clock)}`
      }`,
      markup`<code class="id">${keyPrefix(key)}…${safeText(key.last4)}</code>`,
      key.campaign ?? "–",
      key.lastUsedAt === null ? "never" : timeElement(key.lastUsedAt, clock),
      timeElement(key.createdAt, clock),
    ],
  };
}

/** `/keys/{id}`: the unknown fields that a source sends. */
export async function sourcePage({ parts, exchange, query }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.id ?? "";
  const keys = await listKeys(parts.pool, null);
  const key = keys.find((candidate) => candidate.id === id);
  if (key === undefined) throw notFound("key", id);
  const unknown = await readUnknownFields(parts.pool, id);
  return {
    title: `Key ${id}`,
    body: markup`<h1>${safeText(key.label)} <span class="quiet">key ${id} of ${
      tenantLink(key.tenant)
    }</span></h1>
<h2>Unknown fields</h2>
<p>Names that are not fields of a lead, in the leads of the last 30 days (at most the newest 2,000). Their values are stored under
<code>extra</code>. If a name was meant to be one of the fields, ask the source to rename it.</p>
${
      table(
        ["Name", ">Leads", "Likely field"],
        unknown.map(({ name, leads }) => ({
          cells: [
            markup`<code>${safeText(name)}</code>`,
            formatCount(leads),
            likelyField(name, () => true) ?? "–",
          ],
        })),
        { label: "Unknown fields", empty: markup`No unknown fields.` },
      )
    }`,
  };
}
