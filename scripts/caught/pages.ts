/**
 * The catcher's pages: plain HTML without scripts. Mail content is untrusted, so its HTML is shown in a sandboxed frame and
 * everything else is escaped.
 */

import { type Markup, markup } from "../../src/http/markup.ts";
import { readMail } from "./mime.ts";
import type { Received } from "./smtp_server.ts";
import type { WebhookCall } from "./webhook_sink.ts";

/** A mail or a webhook. */
export type Caught =
  | { readonly kind: "mail"; readonly id: number; readonly at: Date; readonly mail: Received }
  | {
    readonly kind: "webhook";
    readonly id: number;
    readonly at: Date;
    readonly call: WebhookCall;
    /** The result of the signature check. */
    readonly signature: string;
    readonly isGenuine: boolean;
  };

const style = `
:root { color-scheme: light dark; --soft: #555e65; --line: #d9dad6; --good: #17683f; --bad: #a3261b; --link: #1f5673; }
@media (prefers-color-scheme: dark) {
  :root { --soft: #a2abb2; --line: #343a40; --good: #7fd3a3; --bad: #ff9d8f; --link: #86c1e3; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
a { color: var(--link); } h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
ol { list-style: none; padding: 0; } li { border-top: 1px solid var(--line); padding: .6rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); } .good { color: var(--good); } .bad { color: var(--bad); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: .75rem; }
iframe { width: 100%; height: 40rem; border: 1px solid var(--line); background: #fff; }
dt { color: var(--soft); } dd { margin: 0 0 .4rem; overflow-wrap: anywhere; }
`;

/** A response. */
export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const always = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

function page(status: number, title: string, body: Markup): Page {
  const whole = markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="stylesheet" href="/style.css"></head>
<body><main>${body}</main></body></html>
`;
  return {
    status,
    headers: {
      ...always,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    },
    body: whole.text,
  };
}

/** Plain text that no browser interprets otherwise. */
export function textPage(status: number, body: string): Page {
  return { status, headers: { ...always, "Content-Type": "text/plain; charset=utf-8" }, body };
}

/** The style sheet. */
export function styleSheet(): Page {
  return { status: 200, headers: { ...always, "Content-Type": "text/css; charset=utf-8" }, body: style };
}

const clock = (at: Date) =>
  markup`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19)}Z</time>`;

/** The list, newest first. */
export function listPage(all: readonly Caught[]): Page {
  const rows = all.map((caught) =>
    markup`<li>${clock(caught.at)} <strong>${caught.kind === "mail" ? "Mail" : "Webhook"}</strong>
<a href="/${caught.kind}/${caught.id}">${titleOf(caught)}</a>${
      caught.kind === "webhook" && !caught.isGenuine && markup` <span class="bad">${caught.signature}</span>`
    }</li>`
  );
  return page(
    200,
    "Mails and webhooks",
    markup`<h1>Mails and webhooks that were caught</h1>
<p>What the development tenant’s leads became. Nothing of it has left this machine; the newest 200 are kept until
<code>npm start</code> ends. <a href="/">Look again</a></p>
${
      rows.length === 0
        ? markup`<p>Nothing yet. Post a lead with the development key, and look again.</p>`
        : markup`<ol>${rows}</ol>`
    }`,
  );
}

function titleOf(caught: Caught): string {
  if (caught.kind === "mail") return readMail(caught.mail.raw).subject || "(no subject)";
  const body = parsed(caught.call.body);
  const { type, data } = (body ?? {}) as { type?: unknown; data?: { event_id?: unknown } };
  return `${type ?? caught.call.method} ${data?.event_id ?? ""}`.trim();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const back = markup`<p><a href="/">All mails and webhooks</a></p>`;

function pairs(rows: readonly (readonly [string, string])[]): Markup {
  return markup`<dl>${rows.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** One mail or webhook. */
export function caughtPage(caught: Caught): Page {
  return caught.kind === "mail" ? mailPage(caught) : webhookPage(caught);
}

function mailPage({ id, at, mail }: Extract<Caught, { kind: "mail" }>): Page {
  const { subject, headers, text, html } = readMail(mail.raw);
  return page(
    200,
    subject || "(no subject)",
    markup`${back}<h1>${subject || "(no subject)"}</h1>
<p class="soft">${clock(at)}, to ${mail.to.join(", ")}</p>
${
      html !== null &&
      markup`<h2>As HTML</h2>
<iframe sandbox="" referrerpolicy="no-referrer" title="The mail as HTML" src="/mail/${id}/html"></iframe>
<p><a href="/mail/${id}/html">The HTML alone</a></p>`
    }
${text !== null && markup`<h2>As plain text</h2><pre>${text}</pre>`}
<h2>Headers</h2>${pairs(headers)}
<p><a href="/mail/${id}/source">The source, as it was sent</a></p>`,
  );
}

function webhookPage({ at, call, signature, isGenuine }: Extract<Caught, { kind: "webhook" }>): Page {
  const body = parsed(call.body);
  return page(
    200,
    "Webhook",
    markup`${back}<h1>${call.method} ${call.url}</h1>
<p class="soft">${clock(at)}</p>
<p class="${isGenuine ? "good" : "bad"}">${signature}</p>
<h2>Headers</h2>${pairs(Object.entries(call.headers).map(([name, value]) => [name, String(value)] as const))}
<h2>Body</h2><pre>${body === undefined ? call.body : JSON.stringify(body, null, 2)}</pre>`,
  );
}

/** A mail's HTML alone: it may use inline styles and embedded pictures only. */
export function htmlPage(raw: string): Page | null {
  const { html } = readMail(raw);
  return html === null ? null : {
    status: 200,
    headers: {
      ...always,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    },
    body: html,
  };
}
