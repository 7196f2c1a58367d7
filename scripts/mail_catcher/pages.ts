/**
 * Renders the catcher's pages: plain HTML without scripts. The content of emails is untrusted, so their HTML is shown
 * in a sandboxed frame and everything else is escaped.
 */

import { type Markup, markup } from "../../src/http/markup.ts";
import { parseMail } from "./mime.ts";
import type { ReceivedMail } from "./smtp_server.ts";
import type { WebhookCall } from "./webhook_sink.ts";

/** An email or a webhook. */
export type CaughtMessage =
  | { readonly kind: "mail"; readonly id: number; readonly at: Date; readonly mail: ReceivedMail }
  | {
    readonly kind: "webhook";
    readonly id: number;
    readonly at: Date;
    readonly call: WebhookCall;
    /** The result of the signature check. */
    readonly signature: string;
    readonly isSignatureValid: boolean;
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

export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const commonHeaders = {
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
      ...commonHeaders,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    },
    body: whole.text,
  };
}

/** Renders plain text that no browser interprets as anything else. */
export function textPage(status: number, body: string): Page {
  return { status, headers: { ...commonHeaders, "Content-Type": "text/plain; charset=utf-8" }, body };
}

export function styleSheet(): Page {
  return {
    status: 200,
    headers: { ...commonHeaders, "Content-Type": "text/css; charset=utf-8" },
    body: style,
  };
}

const timeElement = (at: Date) =>
  markup`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19)}Z</time>`;

/** Renders the list of messages, newest first. */
export function listPage(messages: readonly CaughtMessage[]): Page {
  const rows = messages.map((message) =>
    markup`<li>${timeElement(message.at)} <strong>${message.kind === "mail" ? "Email" : "Webhook"}</strong>
<a href="/${message.kind}/${message.id}">${titleOf(message)}</a>${
      message.kind === "webhook" && !message.isSignatureValid &&
      markup` <span class="bad">${message.signature}</span>`
    }</li>`
  );
  return page(
    200,
    "Emails and webhooks",
    markup`<h1>Caught emails and webhooks</h1>
<p>These are the emails and webhooks for the development tenant’s leads. None has left this machine. The newest 200 are
stored until <code>npm start</code> ends. <a href="/">Reload</a></p>
<p class="soft">To see leads as a CRM recipe maps them, run:
<code>npm run -s ctl -- tenant route development --crm webhook_json --secret url=.data/crm_url</code></p>
${
      rows.length === 0
        ? markup`<p>Nothing yet. Post a lead with the development key, and reload this page.</p>`
        : markup`<ol>${rows}</ol>`
    }`,
  );
}

function titleOf(message: CaughtMessage): string {
  if (message.kind === "mail") return parseMail(message.mail.raw).subject || "(no subject)";
  const body = parseJson(message.call.body);
  const { type, data, ...mapped } = (body ?? {}) as Record<string, unknown> & {
    data?: { event_id?: unknown };
  };
  const what = type ?? (typeof mapped.full_name === "string" ? mapped.full_name : message.call.method);
  return `${what} ${data?.event_id ?? mapped.event_id ?? ""}`.trim();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const backLink = markup`<p><a href="/">All emails and webhooks</a></p>`;

function descriptionList(rows: readonly (readonly [string, string])[]): Markup {
  return markup`<dl>${rows.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

export function renderMessage(message: CaughtMessage): Page {
  return message.kind === "mail" ? mailPage(message) : webhookPage(message);
}

function mailPage({ id, at, mail }: Extract<CaughtMessage, { kind: "mail" }>): Page {
  const { subject, headers, text, html } = parseMail(mail.raw);
  return page(
    200,
    subject || "(no subject)",
    markup`${backLink}<h1>${subject || "(no subject)"}</h1>
<p class="soft">${timeElement(at)}, to ${mail.to.join(", ")}</p>
${
      html !== null &&
      markup`<h2>As HTML</h2>
<iframe sandbox="" referrerpolicy="no-referrer" title="The email as HTML" src="/mail/${id}/html"></iframe>
<p><a href="/mail/${id}/html">Only the HTML</a></p>`
    }
${text !== null && markup`<h2>As plain text</h2><pre>${text}</pre>`}
<h2>Headers</h2>${descriptionList(headers)}
<p><a href="/mail/${id}/source">The source as sent</a></p>`,
  );
}

function webhookPage(
  { at, call, signature, isSignatureValid }: Extract<CaughtMessage, { kind: "webhook" }>,
): Page {
  const body = parseJson(call.body);
  return page(
    200,
    "Webhook",
    markup`${backLink}<h1>${call.method} ${call.url}</h1>
<p class="soft">${timeElement(at)}</p>
<p class="${isSignatureValid ? "good" : "bad"}">${signature}</p>
<h2>Headers</h2>${
      descriptionList(Object.entries(call.headers).map(([name, value]) => [name, String(value)] as const))
    }
<h2>Body</h2><pre>${body === undefined ? call.body : JSON.stringify(body, null, 2)}</pre>`,
  );
}

/** Renders only the HTML of an email, with inline styles and embedded pictures; `null` if the email has no HTML. */
export function htmlPage(raw: string): Page | null {
  const { html } = parseMail(raw);
  return html === null ? null : {
    status: 200,
    headers: {
      ...commonHeaders,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    },
    body: html,
  };
}
