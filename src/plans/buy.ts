/**
 * `/buy/{plan}`: the page to which the site links, for whoever wants to buy a plan. It asks for an address and leads on to
 * the payment provider.
 *
 * @module
 */

import { hash, randomUUID } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import type { ReadBudget } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { Markup, markup } from "../http/markup.ts";
import { isSameOrigin } from "../http/same_origin.ts";
import { Unavailable } from "../store/pool.ts";
import { Checkout, type CheckoutParts, readOrder } from "./checkout.ts";
import type { Plans } from "./feed.ts";

/** What the handler works with. */
export interface BuyParts extends CheckoutParts {
  readonly plans: Plans;
  /** Spent by everything but the posts. */
  readonly reads: ReadBudget;
}

/** A plan as its page shows it. */
interface OfferedPlan {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  readonly amount_cents: number;
  readonly interval: string;
  readonly items: readonly { readonly title: string; readonly detail: string }[];
}

const style = `
:root { color-scheme: light dark; }
body { font: 1.0625rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
label { display: block; font-weight: 600; } p.wrong { border-left: .25rem solid #c0392b; padding-left: .75rem; }
input { font: inherit; width: 100%; min-height: 2.75rem; padding: .25rem .5rem; margin: .25rem 0 1rem; box-sizing: border-box; }
button { font: inherit; font-weight: 600; min-height: 2.75rem; padding: .25rem 1.5rem; }
`;

/**
 * There is no `form-action`: browsers hold redirects of a form against it too, and only the provider knows the address to
 * which it sends the buyer. `same-origin`, since under `no-referrer` a browser posts a form with `Origin: null`.
 */
const headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${
    hash("sha256", style, "base64")
  }'; img-src data:; base-uri 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
} as const;

/**
 * The handler, for every method. Without a payment provider there is no such page.
 *
 * Chosen: the form has a name of its own for the order, made with the page, so that a button that is pressed twice opens
 * one checkout. Only our own page may post, because anybody else's would have the buyer's browser do it.
 */
export function buyHandler(parts: BuyParts): Handler {
  const checkout = new Checkout(parts);
  const beforeReads = parts.reads.refuseBy(tooMany);
  let offered: { readonly text: string; readonly plans: ReadonlyMap<string, OfferedPlan> } | null = null;
  return async (exchange) => {
    const refusal = exchange.method === "POST" ? null : beforeReads(exchange);
    if (refusal !== null) return refusal;
    if (parts.provider === null) return page(404, "Nothing is sold here", markup``);
    const { current } = parts.plans;
    if (current === null) return away();
    if (offered?.text !== current) offered = { text: current, plans: bySlug(current) };
    const plan = offered.plans.get(exchange.params.plan as string);
    if (plan === undefined) return page(404, "There is no such plan", markup`<p>It may have ended.</p>`);
    if (exchange.method === "GET" || exchange.method === "HEAD") {
      return form(200, plan, { email: "", order: randomUUID(), wrong: null });
    }
    if (exchange.method !== "POST") {
      const refused = page(405, "This page does not do that", markup``);
      return { ...refused, headers: { ...refused.headers, Allow: "GET, HEAD, POST" } };
    }
    return await buy(exchange, plan, { parts, checkout });
  };
}

async function buy(
  exchange: Exchange,
  plan: OfferedPlan,
  { parts, checkout }: { parts: BuyParts; checkout: Checkout },
): Promise<Reply> {
  const ip = parts.ipBudget.spend(exchange.clientAddress, [], parts.nowMs());
  if (!ip.allowed) return tooMany(ip.headers);
  if (!isSameOrigin(exchange)) {
    return page(
      403,
      "The form was sent from another place",
      markup`<p>Open this page, and use its own button.</p>`,
    );
  }
  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind !== "complete") return page(400, "The form did not arrive whole", markup``);
  const sent = new URLSearchParams(new TextDecoder().decode(body.bytes));
  const [email, order] = [sent.get("email") ?? "", sent.get("order") ?? ""];
  const request = readOrder(plan.slug, email);
  const key = readIdempotencyKey([order]);
  if (request.kind !== "valid" || !isUsable(key)) {
    return form(422, plan, {
      email,
      order: randomUUID(),
      wrong: "This is no address that mail can be sent to.",
    });
  }
  try {
    const ordered = await checkout.order({ ...request, key }, exchange.requestId);
    if (ordered.kind === "open") {
      return { status: 303, headers: { ...headers, Location: ordered.session.url }, body: "" };
    }
    if (ordered.fields?.email !== undefined) {
      return form(422, plan, {
        email,
        order: randomUUID(),
        wrong: "The payment provider does not take this address.",
      });
    }
    // Under the same order something else was asked for: the address was mended and the button pressed again.
    if (ordered.code === "idempotency_conflict") {
      return form(409, plan, { email, order: randomUUID(), wrong: "Press the button once more." });
    }
    return away();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return away();
  }
}

function isUsable(key: ReturnType<typeof readIdempotencyKey>): key is UsableIdempotencyKey {
  return key.kind !== "repeated" && key.kind !== "too_long";
}

function bySlug(feed: string): ReadonlyMap<string, OfferedPlan> {
  return new Map((JSON.parse(feed) as OfferedPlan[]).map((plan) => [plan.slug, plan]));
}

function tooMany(told: Readonly<Record<string, string>>): Reply {
  const refused = page(429, "Too many tries", markup`<p>Wait a minute, and try again.</p>`);
  return { ...refused, headers: { ...refused.headers, ...told } };
}

function away(): Reply {
  return page(503, "Not just now", markup`<p>Nothing was bought. Try again in a few minutes.</p>`);
}

function form(
  status: number,
  { name, customer, amount_cents: cents, interval, items }: OfferedPlan,
  { email, order, wrong }: { readonly email: string; readonly order: string; readonly wrong: string | null },
): Reply {
  const price = (cents / 100).toLocaleString("en-US", { style: "currency", currency: "USD" });
  return page(
    status,
    name,
    markup`<p><strong>${price}</strong> a ${interval}, by ${customer}.</p>
${
      items.length > 0 &&
      markup`<ul>${items.map(({ title, detail }) => markup`<li>${title}: ${detail}</li>`)}</ul>`
    }
${wrong !== null && markup`<p class="wrong" role="alert" id="wrong">${wrong}</p>`}
<form method="post"><input type="hidden" name="order" value="${order}">
<label for="email">Your email address</label>
<input id="email" name="email" type="email" autocomplete="email" required value="${email}"${
      wrong !== null && markup` aria-invalid="true" aria-describedby="wrong"`
    }>
<button>Go on to the payment</button></form>
<p>The payment provider asks for everything else. Nothing is bought before you confirm it there.</p>`,
  );
}

function page(status: number, title: string, body: Markup): Reply {
  const { text } = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Markup(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
  return { status, headers, body: text };
}
