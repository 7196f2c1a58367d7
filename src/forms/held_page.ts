/**
 * Serves `/held/{token}`, the page that a link in a digest opens. It shows a held submission, and releases it only when
 * the button is pressed, because mail scanners open links.
 */

import { hash } from "node:crypto";
import type { ReadRateLimiter } from "../gate/rate.ts";
import type { Handler, Reply } from "../http/exchange.ts";
import { Markup, markup } from "../http/markup.ts";
import { noStore, withHeader } from "../http/reply.ts";
import { TimeZone } from "../http/time_zone.ts";
import { summarizeSubmission } from "../lead/sender.ts";
import { Unavailable } from "../store/pool.ts";
import { type HeldLinkStore, type HeldLinkTarget, readHeldLink } from "../store/serving/held_links.ts";

export interface HeldPageParts {
  readonly links: Pick<HeldLinkStore, "find" | "release">;
  /** The secrets with which a valid link may be signed. */
  readonly secrets: readonly string[];
  /** The limiter for all requests to the page. */
  readonly reads: ReadRateLimiter;
}

const style = `
:root { color-scheme: light dark; --ink: #16202b; --dim: #5a6675; --page: #eef1f5; --card: #fff; --edge: #dfe4ea; --quote: #f1f6fc; }
@media (prefers-color-scheme: dark) {
:root { --ink: #e9edf2; --dim: #a7b1bd; --page: #0f1317; --card: #1a2027; --edge: #2c343d; --quote: #222a33; }
}
body { font: 1.0625rem/1.5 system-ui, sans-serif; margin: 0; padding: 1.5rem .75rem; background: var(--page); color: var(--ink); overflow-wrap: anywhere; }
main { max-width: 34rem; margin: 0 auto; padding: 1.5rem; box-sizing: border-box; background: var(--card); border: 1px solid var(--edge); border-radius: .875rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem; } p { margin: .75rem 0; } .dim { color: var(--dim); }
blockquote { margin: 1rem 0; padding: .75rem 1rem; background: var(--quote); border-left: .25rem solid #1f6fd0; }
button { font: inherit; font-weight: 700; width: 100%; min-height: 3rem; border: 0; border-radius: .625rem; background: #0b7a4b; color: #fff; cursor: pointer; }
`;

/** The URL authorizes the release, so it must not leak through referrers or search engines. */
const headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": noStore,
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${
    hash("sha256", style, "base64")
  }'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Robots-Tag": "noindex, nofollow",
} as const;

/**
 * Returns the handler for every method of the path. Chosen: the link alone authorizes the release. The button has no
 * effect on a submission that has been released, dismissed or erased.
 */
export function heldPageHandler({ links, secrets, reads }: HeldPageParts): Handler {
  const refuseOverLimit = reads.guard((rateHeaders) => {
    const refused = page(429, "Too many attempts", "Wait a minute, then open the link again.");
    return { ...refused, headers: { ...refused.headers, ...rateHeaders } };
  });
  return async (exchange) => {
    const refusal = refuseOverLimit(exchange);
    if (refusal !== null) return refusal;
    const { method, clientAddress, params } = exchange;
    if (!/^(?:GET|HEAD|POST)$/.test(method)) {
      return withHeader(page(405, "Method not allowed", ""), "Allow", "GET, HEAD, POST");
    }
    const link = readHeldLink(params.token as string, secrets);
    if (link === null) return notFound();
    try {
      if (method !== "POST") return submissionPage(await links.find(link));
      const state = await links.release(link, clientAddress);
      return state === null ? notFound() : settledPage(state === "held" ? "released" : state);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return page(
        503,
        "This page is unavailable at the moment",
        "Nothing has changed. Open the link again in a few minutes.",
      );
    }
  };
}

function notFound(): Reply {
  return page(
    404,
    "This link no longer works",
    "A link is valid for seven days. The operator of the forms can still release the message.",
  );
}

function submissionPage(target: HeldLinkTarget | null): Reply {
  if (target === null) return notFound();
  if (target.state !== "held") return settledPage(target.state);
  const { tenant, timeZone, formKey, receivedAt, fields } = target;
  const { name, contact, excerpt } = summarizeSubmission(fields);
  const { day, clock } = new TimeZone(timeZone).at(Date.parse(receivedAt));
  return page(
    200,
    "Release this message?",
    markup`It was held as spam, and ${tenant} has not received it.</p>
<blockquote>${name !== "" && markup`<strong>${name}</strong><br>`}${
      contact !== "" && markup`${contact}<br>`
    }${excerpt !== "" && markup`${excerpt}<br>`}<span class="dim">${day}, ${
      clock.slice(0, 5)
    }, form ${formKey}</span></blockquote>
<form method="post"><button>Release message</button></form>
<p class="dim">It is then delivered like any other message. If it is spam, close this page.`,
  );
}

function settledPage(state: Exclude<HeldLinkTarget["state"], "held">): Reply {
  if (state === "released") {
    return page(
      200,
      "This message has been released",
      "It is delivered like any other message. You can close this page.",
    );
  }
  return state === "dismissed"
    ? page(
      200,
      "This message stays held",
      "It was marked as spam. The operator of the forms can still release it.",
    )
    : page(200, "This message was deleted", "Its content was erased, or its retention period has ended.");
}

function page(status: number, title: string, body: Markup | string): Reply {
  const { text } = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Markup(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${body}</p>
</main>
</body>
</html>
`;
  return { status, headers, body: text };
}
