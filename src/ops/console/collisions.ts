/**
 * Collisions: other leads under a used Idempotency-Key, kept aside and never delivered.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { listCollisions, readCollision, type StoredCollision } from "../../store/operator/collisions.ts";
import { compared, erased, verbatim } from "./content.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, table } from "./layout.ts";
import { numberShape, parseQuery } from "./query.ts";
import { chosenTenant, tenantFilter } from "./tenants.ts";
import { count, shortened, shown, time } from "./text.ts";

const listedMax = 200;

/** `/collisions` */
export async function collisionsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const collisions = await listCollisions(parts.pool, { tenantId: tenant.id, limit: listedMax });
  return {
    title: "Collisions",
    body: markup`<h1>Collisions</h1>
<p>Another lead came under an <code>Idempotency-Key</code> that was used before: its caller was told
<code>duplicate</code>, and it was kept aside, never delivered. The caller should put its own name before its keys, and
send a lost lead again under a new one.</p>
${await tenantFilter(parts.pool, "/collisions", tenant.slug)}
${
      table(
        [
          "Last",
          "Collision",
          "Tenant",
          "Posted by",
          "Idempotency-Key",
          { name: "Times", isNumber: true },
          "Event",
        ],
        collisions.map((one) => ({
          cells: [
            time(one.lastAt, clock),
            markup`<a href="/collisions/${one.id}">Compare ${one.id}</a>`,
            one.tenant,
            shown(one.source),
            one.idempotencyKey === null ? "–" : shortened(one.idempotencyKey, 40),
            count(one.count),
            markup`<a class="id" href="/leads/${one.eventId}">${one.eventId}</a>`,
          ],
        })),
        {
          label: "Collisions",
          empty: markup`There are no collisions${
            tenant.slug !== null && markup` of this tenant`
          }: nothing to do.`,
          caption: collisions.length === listedMax
            ? `The newest ${listedMax}; choose a tenant to see more of it`
            : undefined,
        },
      )
    }`,
  };
}

/** `/collisions/{id}`: what was kept aside beside what was accepted. */
export async function collisionPage({ parts, exchange, query, clock }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.id ?? "";
  const one = numberShape.test(id) ? await readCollision(parts.pool, id) : null;
  if (one === null) {
    throw new RefusedPage(
      404,
      "There is no such collision",
      markup`<p>The <a href="/collisions">list of collisions</a> has those there are.</p>`,
    );
  }
  return {
    title: `Collision ${one.id}`,
    body: markup`<h1>Collision ${one.id}</h1>
<dl class="facts">
<dt>Event</dt><dd><a class="id" href="/leads/${one.eventId}">${one.eventId}</a></dd>
<dt>Tenant</dt><dd>${one.tenant}</dd>
<dt>Idempotency-Key</dt><dd>${one.idempotencyKey === null ? "none" : shown(one.idempotencyKey)}</dd>
<dt>Accepted</dt><dd>${time(one.accepted.receivedAt, clock)}, posted by ${shown(one.accepted.source)}</dd>
<dt>Kept aside</dt><dd>${time(one.firstAt, clock)}, posted by ${shown(one.source)}${
      one.count > 1 && markup`, posted ${count(one.count)} times, last ${time(one.lastAt, clock)}`
    }</dd>
</dl>
<h2>What differs</h2>${differences(one)}
<h2>The body that was kept aside, as posted</h2>${verbatim(one.raw, "The body that was kept aside")}`,
  };
}

function differences(one: StoredCollision): Markup {
  const { accepted } = one;
  if (one.lead === null || accepted.lead === null) return erased;
  const pairs = [
    ...compared(accepted.lead, one.lead),
    ...compared(accepted.extra, one.extra).map((pair) => ({ ...pair, name: `extra.${pair.name}` })),
  ];
  const rows = pairs.map(({ name, left, right }) => ({
    className: left === right ? undefined : "differs" as const,
    cells: [
      markup`${shown(name)}${left !== right && markup` <span class="badge warn">differs</span>`}`,
      side(left),
      side(right),
    ],
  }));
  return table(
    ["Field", "Accepted", "Kept aside"],
    rows,
    { label: "The accepted lead and the one kept aside, field by field", empty: markup`Both are empty.` },
  );
}

function side(value: string | null): Markup {
  return value === null
    ? markup`<span class="quiet">not there</span>`
    : markup`<div class="value">${shown(value)}</div>`;
}
