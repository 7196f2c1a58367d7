/** Collisions: other leads under a used Idempotency-Key, kept aside until somebody accepts them. */

import { type Markup, markup } from "../../http/markup.ts";
import {
  acceptCollision,
  dismissCollision,
  listCollisions,
  type ListedCollision,
  readCollision,
  type StoredCollision,
} from "../../store/operator/collisions.ts";
import {
  actionForm,
  chosenTenant,
  numberShape,
  parseQuery,
  readForm,
  tenantSelect,
  type Tokens,
  withNote,
} from "./request.ts";
import { compared, erased, verbatim } from "./content.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, select, table } from "./layout.ts";
import { count, type PageClock, shortened, shown, time } from "./text.ts";

const listedMax = 200;

const shows = {
  lost: "open, of another person",
  open: "open",
} as const;
type Show = keyof typeof shows;

/** `/collisions` */
export async function collisionsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["tenant", "show"]);
  const tenant = await chosenTenant(parts.pool, form);
  const show = form.word("show", Object.keys(shows) as Show[]);
  const collisions = await listCollisions(parts.pool, {
    tenantId: tenant.id,
    isOpen: show !== null,
    otherPerson: show === "lost",
    limit: listedMax,
  });
  return {
    title: "Collisions",
    body: markup`<h1>Collisions</h1>
<p>A collision is a lead that reused another lead's <code>Idempotency-Key</code>. Its caller got <code>duplicate</code>, and it was
kept aside, not delivered. If it is <strong>another person's</strong> (phone or email differ), the lead is lost until you accept it. If
it is the same person's, it is usually the same lead, edited. Ask the caller to put its own name before its keys.</p>
<form class="filters" method="get" action="/collisions">
${await tenantSelect(parts.pool, tenant.slug)}${
      select("show", [["", "all"], ...Object.entries(shows)], { label: "Show", chosen: show })
    }<div><button>Show</button></div></form>
${
      table(
        [
          "Last",
          "Collision",
          "State",
          "Tenant",
          "Posted by",
          "Idempotency-Key",
          ">Times",
          "Event",
        ],
        collisions.map((one) => ({
          className: one.state === "open" && one.otherPerson ? undefined : "off",
          cells: [
            time(one.lastAt, clock),
            markup`<a href="/collisions/${one.id}">Compare ${one.id}</a>`,
            stateBadges(one),
            one.tenant,
            shown(one.source),
            one.idempotencyKey === null ? "–" : shortened(one.idempotencyKey, 40),
            count(one.count),
            markup`<a class="id" href="/leads/${one.eventId}">${one.eventId}</a>`,
          ],
        })),
        {
          label: "Collisions",
          empty: markup`There are no such collisions: nothing to do.`,
          caption: collisions.length === listedMax
            ? `The newest ${listedMax}; choose a tenant to see more of it`
            : undefined,
        },
      )
    }`,
  };
}

function stateBadges({ state, otherPerson }: ListedCollision): Markup {
  const tone = state === "open" && otherPerson ? " bad" : state === "accepted" ? " good" : "";
  return markup`<span class="badge${tone}">${state}</span> <span class="badge${tone}">${
    otherPerson ? "another person" : "the same person"
  }</span>`;
}

/** `/collisions/{id}`: what was kept aside beside what was accepted. */
export async function collisionPage(
  { parts, tokens, exchange, query, clock }: Context,
): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.id ?? "";
  const one = numberShape.test(id) ? await readCollision(parts.pool, id) : null;
  if (one === null) {
    throw new RefusedPage(
      404,
      "No such collision",
      markup`<p>The <a href="/collisions">list of collisions</a> has those there are.</p>`,
    );
  }
  return {
    title: `Collision ${one.id}`,
    body: markup`<h1>Collision ${one.id}</h1>
${settling(one, { tokens, clock })}
<dl class="facts">
<dt>First event</dt><dd><a class="id" href="/leads/${one.eventId}">${one.eventId}</a></dd>
<dt>Tenant</dt><dd>${one.tenant}</dd>
<dt>Idempotency-Key</dt><dd>${one.idempotencyKey === null ? "none" : shown(one.idempotencyKey)}</dd>
<dt>Accepted</dt><dd>${time(one.accepted.receivedAt, clock)}, posted by ${shown(one.accepted.source)}</dd>
<dt>Kept aside</dt><dd>${time(one.firstAt, clock)}, posted by ${shown(one.source)}${
      one.count > 1 && markup`, posted ${count(one.count)} times, last ${time(one.lastAt, clock)}`
    }</dd>
</dl>
<h2>What differs</h2>${differences(one)}
<h2>The body kept aside, as posted</h2>${verbatim(one.raw, "The body kept aside")}`,
  };
}

/** What it is, what became of it, and the buttons to change that. */
function settling(
  one: StoredCollision,
  { tokens, clock }: { readonly tokens: Tokens; readonly clock: PageClock },
): Markup {
  const { state, otherPerson, settledAt, acceptedEventId } = one;
  const tone = state === "open" && otherPerson ? "bad" : state === "accepted" ? "good" : "warn";
  const settled = settledAt === null ? markup`` : markup` ${time(settledAt, clock)}`;
  const words = {
    open: otherPerson
      ? markup`<strong>Another person's lead</strong>: phone or email differ. It was not delivered.`
      : markup`The same person, by phone and email: most often the same lead, changed.`,
    accepted:
      markup`Accepted${settled}, as <a class="id" href="/leads/${acceptedEventId}">${acceptedEventId}</a>.`,
    dismissed: markup`Dismissed${settled}: it was not delivered.`,
    erased: markup`Its content is gone; there is nothing left to accept.`,
  };
  const isAcceptable = state === "open" || state === "dismissed";
  return markup`<div class="${tone} message"><p>${words[state]}</p>${
    isAcceptable &&
    actionForm(
      { tokens, path: "/collisions/settle" },
      markup`<button class="main" name="accept" value="${one.id}">Accept as a separate lead</button>${
        state === "open" && markup` <button name="dismiss" value="${one.id}">Dismiss</button>`
      }`,
    )
  }</div>`;
}

/** `POST /collisions/settle`: accepts or dismisses one. */
export async function settleAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/collisions/settle",
    names: ["accept", "dismiss"],
  });
  const accepted = form.shaped("accept", numberShape);
  const id = accepted ?? form.shaped("dismiss", numberShape);
  if (id === null) throw new RefusedPage(400, "This is not a collision", markup`<p>Nothing was changed.</p>`);
  const back = `/collisions/${id}`;
  if (accepted === null) {
    const outcome = await dismissCollision(parts.pool, id, exchange.clientAddress);
    return withNote(back, {
      tokens,
      code: outcome === "dismissed" ? "collision_dismissed" : "collision_settled",
    });
  }
  const outcome = await acceptCollision(parts.pool, id, exchange.clientAddress);
  if (outcome.kind === "accepted") {
    return withNote(`/leads/${outcome.eventId}`, { tokens, code: "collision_accepted" });
  }
  return withNote(back, { tokens, code: outcome.kind === "busy" ? "collision_busy" : "collision_settled" });
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
