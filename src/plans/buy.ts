/** Serves `/buy/{plan}`, where a buyer enters an email address and is redirected to the payment provider. */

import { hash, randomUUID } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import type { ReadRateLimiter } from "../gate/rate.ts";
import { baseStyle } from "../http/base_style.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { Markup, markup } from "../http/markup.ts";
import { isSameOrigin } from "../http/target.ts";
import { Unavailable } from "../store/pool.ts";
import { Checkout, type CheckoutParts, readOrder } from "./checkout.ts";
import type { Plans } from "./feed.ts";

export interface BuyParts extends CheckoutParts {
  readonly plans: Plans;
  /** Limits the rate of all requests except posts. */
  readonly reads: ReadRateLimiter;
  /** Returns the site's base URL, or `null` if this process has none. */
  readonly siteUrl: () => string | null;
  /** The email address for buyers' questions; `null` if unset. */
  readonly contact: string | null;
}

interface OfferedPlan {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  readonly amount_cents: number;
  readonly interval: string;
  readonly items: readonly { readonly title: string; readonly detail: string }[];
}

const style = `${baseStyle}
html { font-size: 1.0625rem; }
body { max-width: 40rem; overflow-wrap: anywhere; }
header { padding: 1.25rem 0 0.9rem; border-bottom: 1px solid var(--line); }
h1 { font-size: clamp(1.8rem, 1.3rem + 2.4vw, 2.6rem); line-height: 1.2; margin: 1.6rem 0 0; text-wrap: balance; }
.by { color: var(--soft); margin: 0.25rem 0 1.25rem; }
.price strong { font-size: 1.6rem; }
dl { margin: 0 0 1.5rem; }
dl div { padding: 0.5rem 0; border-top: 1px solid var(--line); }
dt { font-weight: 600; }
dd { margin: 0; }
form { background: var(--tint); border-radius: 7px; padding: 1.1rem; }
label { display: block; font-weight: 600; }
input, button { min-height: 2.75rem; }
input { margin: 0.25rem 0 1rem; }
button { font-weight: 600; padding: 0.25rem 1.5rem; }
.error { border-left: 3px solid var(--bad); color: var(--bad); padding-left: 0.75rem; }
.soft { color: var(--soft); font-size: 0.94rem; }
.ways a { display: inline-block; padding: 0.35rem 0; margin-right: 1.25rem; }
`;

// There is no `form-action`, which browsers also apply to the redirect to the provider, and no `no-referrer`, which
// makes `Origin` null.
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
 * Creates the handler for all methods. Each form contains an order id, so that a second press of the button opens no
 * second checkout.
 */
export function buyHandler(parts: BuyParts): Handler {
  const checkout = new Checkout(parts);
  const beforeReads = parts.reads.guard((headers) => tooManyAttempts(headers, parts));
  let offered: { readonly text: string; readonly plans: ReadonlyMap<string, OfferedPlan> } | null = null;
  return async (exchange) => {
    const refusal = exchange.method === "POST" ? null : beforeReads(exchange);
    if (refusal !== null) return refusal;
    if (parts.provider === null) {
      return refuse(404, parts, {
        title: "Nothing is for sale here",
        text: "No plans are sold at this address.",
      });
    }
    const { current } = parts.plans;
    if (current === null) return unavailable(parts);
    if (offered?.text !== current) offered = { text: current, plans: plansBySlug(current) };
    const plan = offered.plans.get(exchange.params.plan as string);
    if (plan === undefined) {
      return refuse(404, parts, { title: "This plan does not exist", text: "It may no longer be offered." });
    }
    if (exchange.method === "GET" || exchange.method === "HEAD") {
      return renderForm(200, { plan, parts }, { email: "", error: null });
    }
    if (exchange.method !== "POST") {
      const refused = refuse(405, parts, {
        title: "This request is not supported",
        back: "Back to the plan",
      });
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
  const ip = parts.ipLimiter.allow(exchange.clientAddress, [], parts.nowMs());
  if (!ip.isAllowed) return tooManyAttempts(ip.headers, parts);
  const back = "Back to the plan";
  if (!isSameOrigin(exchange)) {
    return refuse(403, parts, {
      title: "The form was sent from another site",
      text: "Open this page and use its button.",
      back,
    });
  }
  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind !== "complete") return refuse(400, parts, { title: "The form is incomplete", back });
  const sent = new URLSearchParams(new TextDecoder().decode(body.bytes));
  const [email, order] = [sent.get("email") ?? "", sent.get("order") ?? ""];
  const request = readOrder(plan.slug, email);
  const key = readIdempotencyKey([order]);
  const formWithError = (status: number, error: string) =>
    renderForm(status, { plan, parts }, { email, error });
  if (request.kind !== "valid" || !isUsable(key)) {
    return formWithError(422, "Enter a valid email address.");
  }
  try {
    const ordered = await checkout.order({ ...request, key }, exchange.requestId);
    if (ordered.kind === "open") {
      return { status: 303, headers: { ...headers, Location: ordered.session.url }, body: "" };
    }
    if (ordered.fields?.email !== undefined) {
      return formWithError(422, "The payment provider does not accept this address.");
    }
    // The order id was already sent with another email address. The new form has a new id.
    if (ordered.code === "idempotency_conflict") {
      return formWithError(409, "The email address has changed. Press the button again.");
    }
    return unavailable(parts);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return unavailable(parts);
  }
}

function isUsable(key: ReturnType<typeof readIdempotencyKey>): key is UsableIdempotencyKey {
  return key.kind !== "repeated" && key.kind !== "too_long";
}

function plansBySlug(feed: string): ReadonlyMap<string, OfferedPlan> {
  return new Map((JSON.parse(feed) as OfferedPlan[]).map((plan) => [plan.slug, plan]));
}

function tooManyAttempts(rateHeaders: Readonly<Record<string, string>>, links: PageLinks): Reply {
  const refused = refuse(429, links, {
    title: "Too many attempts",
    text: "Wait a minute, then try again.",
    back: "Try again",
  });
  return { ...refused, headers: { ...refused.headers, ...rateHeaders } };
}

function unavailable(links: PageLinks): Reply {
  const text = "You have not been charged. Try again in a few minutes.";
  return refuse(503, links, { title: "Payment is unavailable at the moment", text, back: "Try again" });
}

type PageLinks = Pick<BuyParts, "siteUrl" | "contact">;

/** Renders an error page; `back` is the text of a link to the same page. */
function refuse(
  status: number,
  { siteUrl, contact }: PageLinks,
  { title, text, back }: { readonly title: string; readonly text?: string; readonly back?: string },
): Reply {
  const site = siteUrl();
  return page(
    status,
    title,
    markup`<h1>${title}</h1>
${text !== undefined && markup`<p>${text}</p>`}
<p class="ways">${back !== undefined && markup`<a href="">${back}</a>`}
${site !== null && markup`<a href="${site}/plans/">See all plans</a>`}
${contact !== null && markup`<a href="mailto:${contact}">Email ${contact}</a>`}</p>`,
  );
}

function renderForm(
  status: number,
  { plan, parts }: { readonly plan: OfferedPlan; readonly parts: BuyParts },
  { email, error }: { readonly email: string; readonly error: string | null },
): Reply {
  const { name, amount_cents: cents, interval, items } = plan;
  const customer = parts.plans.customerName(plan.customer);
  const price = (cents / 100).toLocaleString("en-US", { style: "currency", currency: "USD" });
  const site = parts.siteUrl();
  return page(
    status,
    `${name} by ${customer}`,
    markup`${site !== null && markup`<header><a href="${site}/plans/">All plans</a></header>`}
<h1>${name}</h1>
<p class="by">by ${customer}</p>
<p class="price"><strong>${price}</strong> per ${interval}</p>
${
      items.length > 0 &&
      markup`<dl>${
        items.map(({ title, detail }) => markup`<div><dt>${title}</dt><dd>${detail}</dd></div>`)
      }</dl>`
    }
<form method="post"><input type="hidden" name="order" value="${randomUUID()}">
${error !== null && markup`<p class="error" role="alert" id="error">${error}</p>`}
<label for="email">Your email address</label>
<input id="email" name="email" type="email" autocomplete="email" required value="${email}"${
      error !== null && markup` aria-invalid="true" aria-describedby="error"`
    }>
<button>Continue to payment</button></form>
<p class="soft">You pay on the payment provider's page. Nothing is charged until you confirm there.</p>`,
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
${body}
</main>
</body>
</html>
`;
  return { status, headers, body: text };
}
