/** The API keys: whose they are, and which are used no more. */

import { markup } from "../../http/markup.ts";
import { likelyField } from "../../lead/misspelling.ts";
import { type ListedKey, listKeys, readUnknownFields } from "../../store/operator/api_keys.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, table, type TableRow } from "./layout.ts";
import { chosenTenant, parseQuery, tenantFilter } from "./request.ts";
import { count, counted, type PageClock, shown, time } from "./text.ts";

const listedMax = 1_000;
// Chosen: a source that has sent nothing for a month, or a key that nobody has used a week after its issue, is either
// broken or a door that nobody needs.
const staleMs = 30 * 86_400_000;
const unusedMs = 7 * 86_400_000;

type KeyStatus = "exposed" | "in use" | "new" | "stale" | "never used" | "suspended" | "revoked";

function statusOf(key: ListedKey, clock: PageClock): KeyStatus {
  if (key.revokedAt !== null) return "revoked";
  if (key.suspendedAt !== null) return "suspended";
  if (key.isExposed) return "exposed";
  if (key.lastUsedAt !== null) return clock.nowMs - Date.parse(key.lastUsedAt) > staleMs ? "stale" : "in use";
  return clock.nowMs - Date.parse(key.createdAt) > unusedMs ? "never used" : "new";
}

const order: readonly KeyStatus[] = [
  "exposed",
  "stale",
  "never used",
  "in use",
  "new",
  "suspended",
  "revoked",
];

/** `/keys` */
export async function keysPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const keys = (await listKeys(parts.pool, tenant.id))
    .map((key) => ({ key, status: statusOf(key, clock) }))
    .sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  const idle = keys.filter(({ status }) => status === "stale" || status === "never used").length;
  return {
    title: "Keys",
    body: markup`<h1>Keys</h1>
<p>${
      keys.length === 0
        ? ""
        : idle === 0
        ? "Every key that is not revoked is in use."
        : markup`<strong>${
          counted(idle, "key")
        }</strong> not used for 30 days, or never: ask whether the source still
sends, and revoke keys that are not needed.`
    } Keys are issued, limited and revoked with the command, never here: <code>ctl key issue TENANT --label LABEL</code>,
<code>ctl key limit ID …</code>, <code>ctl key revoke ID</code>.</p>
${
      keys.some(({ status }) => status === "exposed") &&
      markup`<p class="bad message">An exposed key was sent in a URL, where logs keep it. Issue a new one, and revoke the exposed one.</p>`
    }
${await tenantFilter(parts.pool, "/keys", tenant.slug)}
${
      table(
        [
          "Id",
          "Status",
          "Tenant",
          "Label (source)",
          "Surface",
          "Ends in",
          "Campaign",
          "Last used",
          "Issued",
        ],
        keys.slice(0, listedMax).map(({ key, status }) => row(key, { status, clock })),
        {
          label: "Keys",
          empty: markup`There are no keys${
            tenant.slug !== null && markup` of this tenant`
          }. Issue one: <code>ctl key issue TENANT --label LABEL</code>`,
          caption: keys.length > listedMax ? `${count(listedMax)} of ${count(keys.length)}` : undefined,
        },
      )
    }`,
  };
}

function row(key: ListedKey, { status, clock }: { status: KeyStatus; clock: PageClock }): TableRow {
  const isIdle = status === "stale" || status === "never used";
  const { limit } = key;
  const offSince = key.revokedAt ?? key.suspendedAt;
  return {
    className: isIdle ? "stale" : status === "revoked" || status === "suspended" ? "off" : undefined,
    cells: [
      markup`<a href="/keys/${key.id}">${key.id}</a>`,
      markup`<span class="badge ${
        isIdle ? "warn" : status === "in use" ? "good" : status === "exposed" ? "bad" : ""
      }">${status}</span>${offSince !== null && markup`<br>${time(offSince, clock)}`}`,
      key.tenant,
      markup`${shown(key.label)}${
        limit !== null &&
        markup`<br><span class="badge warn">limit raised</span> ${count(limit.perMinute)} a minute, burst ${
          count(limit.burst)
        }, until ${time(limit.until, clock)}`
      }`,
      key.surface,
      markup`<code>…${shown(key.last4)}</code>`,
      key.campaign ?? "–",
      key.lastUsedAt === null ? "never" : time(key.lastUsedAt, clock),
      time(key.createdAt, clock),
    ],
  };
}

/** `/keys/{id}`: what a source sends that is no field of a lead. */
export async function sourcePage({ parts, exchange, query }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.id ?? "";
  const keys = await listKeys(parts.pool, null);
  const key = keys.find((one) => one.id === id);
  if (key === undefined) {
    throw new RefusedPage(
      404,
      "There is no such key",
      markup`<p>Look for it among the <a href="/keys">keys</a>.</p>`,
    );
  }
  const unknown = await readUnknownFields(parts.pool, id);
  return {
    title: `Key ${id}`,
    body: markup`<h1>${shown(key.label)} <span class="quiet">key ${id} of ${key.tenant}</span></h1>
<h2>Unknown fields</h2>
<p>Names that are no field of a lead, in the leads of the last 30 days, at most the newest 2,000. Their values are kept under
<code>extra</code>. If one was meant for a field, ask the source to rename it.</p>
${
      table(
        ["Name", ">Leads", "Probably meant"],
        unknown.map(({ name, leads }) => ({
          cells: [markup`<code>${shown(name)}</code>`, count(leads), likelyField(name, () => true) ?? "–"],
        })),
        { label: "Unknown fields", empty: markup`Every lead has known fields only.` },
      )
    }`,
  };
}
