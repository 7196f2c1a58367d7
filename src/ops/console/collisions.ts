/** Lists and settles collisions: leads that reused an Idempotency-Key and were set aside. */

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
  parseQuery,
  readForm,
  rowIdPattern,
  selectedTenant,
  tenantSelect,
  type Tokens,
  withNote,
} from "./request.ts";
import { erasedNote, pairMembers, verbatim } from "./content.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, filterForm, RefusedPage, select, table } from "./layout.ts";
import {
  eventLink,
  formatCount,
  type PageClock,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";
import { notFound } from "./wrong_id.ts";

const listedMax = 200;

const filters = {
  lost: "open, from another person",
  open: "open",
} as const;
type FilterName = keyof typeof filters;

/** Renders the page `/collisions`. */
export async function collisionsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["tenant", "show"]);
  const tenant = await selectedTenant(parts.pool, form);
  const show = form.oneOf("show", Object.keys(filters) as FilterName[]);
  const collisions = await listCollisions(parts.pool, {
    tenantId: tenant.id,
    isOpen: show !== null,
    otherPerson: show === "lost",
    limit: listedMax,
  });
  return {
    title: "Collisions",
    body: markup`<h1>Collisions</h1>
<p>A collision is a lead that reused another lead's <code>Idempotency-Key</code>. The caller got <code>duplicate</code>, and the lead was
set aside, not delivered. If it is from <strong>another person</strong> (the phone or email differs, or neither can be compared), the
lead is lost until you accept it. If it is from the same person, it is usually an edited copy of the same lead. Ask the caller to
prefix its keys with its own name.</p>
${
      filterForm("/collisions", [
        await tenantSelect(parts.pool, tenant.slug),
        select("show", [["", "all"], ...Object.entries(filters)], { label: "Show", selected: show }),
      ])
    }
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
        collisions.map((collision) => ({
          className: collision.state === "open" && collision.otherPerson ? undefined : "off",
          cells: [
            timeElement(collision.lastAt, clock),
            markup`<a href="/collisions/${collision.id}">Compare\u00a0${collision.id}</a>`,
            stateBadges(collision),
            tenantLink(collision.tenant),
            safeText(collision.source),
            collision.idempotencyKey === null ? "–" : truncated(collision.idempotencyKey, 40),
            formatCount(collision.count),
            eventLink(collision.eventId),
          ],
        })),
        {
          label: "Collisions",
          empty: markup`No such collisions. You have nothing to do.`,
          caption: collisions.length === listedMax
            ? `The newest ${listedMax}; select a tenant to see more of its collisions`
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

/** `/collisions/{id}`: compares a collision with the accepted lead. */
export async function collisionPage(
  { parts, tokens, exchange, query, clock }: Context,
): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.id ?? "";
  const collision = rowIdPattern.test(id) ? await readCollision(parts.pool, id) : null;
  if (collision === null) throw notFound("collision", id);
  return {
    title: `Collision ${collision.id}`,
    body: markup`<h1>Collision ${collision.id}</h1>
${statusBox(collision, { tokens, clock })}
<dl class="facts">
<dt>First event</dt><dd>${eventLink(collision.eventId, "whole")}</dd>
<dt>Tenant</dt><dd>${tenantLink(collision.tenant)}</dd>
<dt>Idempotency-Key</dt><dd>${
      collision.idempotencyKey === null ? "none" : safeText(collision.idempotencyKey)
    }</dd>
<dt>Accepted</dt><dd>${timeElement(collision.accepted.receivedAt, clock)}, posted by ${
      safeText(collision.accepted.source)
    }</dd>
<dt>Set aside</dt><dd>${timeElement(collision.firstAt, clock)}, posted by ${safeText(collision.source)}${
      collision.count > 1 &&
      markup`; posted ${formatCount(collision.count)} times, last ${timeElement(collision.lastAt, clock)}`
    }</dd>
</dl>
<h2>Differences</h2>${differenceTable(collision)}
<h2>Body of the collision, as posted</h2>${verbatim(collision.raw, "Body of the collision")}`,
  };
}

/** Renders the collision's state and the buttons that settle it. */
function statusBox(
  collision: StoredCollision,
  { tokens, clock }: { readonly tokens: Tokens; readonly clock: PageClock },
): Markup {
  const { state, otherPerson, settledAt, acceptedEventId } = collision;
  const tone = state === "open" && otherPerson ? "bad" : state === "accepted" ? "good" : "warn";
  const settledTime = settledAt === null ? markup`` : markup` ${timeElement(settledAt, clock)}`;
  const stateTexts = {
    open: otherPerson
      ? markup`<strong>Lead from another person</strong>: the phone or email differs, or neither can be compared. It was not
delivered.`
      : markup`Same person, by phone and email: usually an edited copy of the same lead.`,
    accepted: markup`Accepted${settledTime}, as ${eventLink(acceptedEventId ?? "", "whole")}.`,
    dismissed: markup`Dismissed${settledTime}: it was not delivered.`,
    erased: markup`Its content has been erased. There is nothing left to accept.`,
  };
  const isAcceptable = state === "open" || state === "dismissed";
  return markup`<div class="${tone} message"><p>${stateTexts[state]}</p>${
    isAcceptable &&
    actionForm(
      { tokens, path: "/collisions/settle" },
      markup`<button class="main" name="accept" value="${collision.id}">Accept as a separate lead</button>${
        state === "open" && markup` <button name="dismiss" value="${collision.id}">Dismiss</button>`
      }`,
    )
  }</div>`;
}

/** `POST /collisions/settle`: accepts or dismisses a collision. */
export async function settleAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/collisions/settle",
    names: ["accept", "dismiss"],
  });
  const accepted = form.matching("accept", rowIdPattern);
  const id = accepted ?? form.matching("dismiss", rowIdPattern);
  if (id === null) throw new RefusedPage(400, "Not a collision id", markup`<p>Nothing was changed.</p>`);
  const back = `/collisions/${id}`;
  if (accepted === null) {
    const outcome = await dismissCollision(parts.pool, id, operator);
    return withNote(back, {
      tokens,
      code: outcome === "dismissed" ? "collision_dismissed" : "collision_settled",
    });
  }
  const outcome = await acceptCollision(parts.pool, id, operator);
  if (outcome.kind === "accepted") {
    return withNote(`/leads/${outcome.eventId}`, { tokens, code: "collision_accepted" });
  }
  return withNote(back, { tokens, code: outcome.kind === "busy" ? "collision_busy" : "collision_settled" });
}

function differenceTable(collision: StoredCollision): Markup {
  const { accepted } = collision;
  if (collision.lead === null || accepted.lead === null) return erasedNote;
  const pairs = [
    ...pairMembers(accepted.lead, collision.lead),
    ...pairMembers(accepted.extra, collision.extra).map((pair) => ({ ...pair, name: `extra.${pair.name}` })),
  ];
  const rows = pairs.map(({ name, left, right }) => ({
    className: left === right ? undefined : "differs" as const,
    cells: [
      markup`${safeText(name)}${left !== right && markup` <span class="badge warn">differs</span>`}`,
      valueCell(left),
      valueCell(right),
    ],
  }));
  return table(
    ["Field", "Accepted", "Set aside"],
    rows,
    { label: "The accepted lead and the collision, field by field", empty: markup`Both are empty.` },
  );
}

function valueCell(value: string | null): Markup {
  return value === null
    ? markup`<span class="quiet">missing</span>`
    : markup`<div class="value">${safeText(value)}</div>`;
}
