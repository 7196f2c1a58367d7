/**
 * Where events can go: a CRM by a signed webhook, an inbox, a channel of Slack.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import type { Destination, Sending } from "./destination.ts";
import { contentName, type DeliveredEvent } from "./event.ts";
import { eventNotification } from "./notification/event.ts";
import { mailOf } from "./notification/mail.ts";
import type { SendMail } from "./smtp.ts";

/** Sends webhooks. */
export function crmWebhook(post: CheckedPost): Destination {
  return {
    kind: "crm",
    send({ event, route: { address, secrets }, nowMs, isTest }) {
      const body = webhookBody(event, { isTest });
      const headers = signatureHeaders(event.eventId, body, secrets, nowMs);
      return post.send(address, { tenant: event.tenant, body, headers });
    },
  };
}

/**
 * The body of the webhook. The same event has the same bytes at every attempt. That of a test says so twice: in its type,
 * and with `"test":true` in its data, for whoever looks at that alone.
 *
 * Source: DECISIONS, Delivery (CRM route), and Decided since (Webhook test).
 */
export function webhookBody(event: DeliveredEvent, { isTest }: { readonly isTest: boolean }): string {
  const type = isTest ? "route.test" : event.kind === "lead" ? "lead.accepted" : "form.submitted";
  const text = (value: unknown) => JSON.stringify(value);
  return `{"type":"${type}","timestamp":${text(event.receivedAt)},"data":{` +
    `"event_id":${text(event.eventId)},"tenant":${text(event.tenant)},"source":${text(event.source)},` +
    `"received_at":${text(event.receivedAt)},"${contentName(event.kind)}":${event.content},` +
    `"extra":${event.extra},"flags":${text(event.flags)}${isTest ? ',"test":true' : ""}}}`;
}

/**
 * The three headers of a signed webhook. There is a signature for each secret, so that a receiver that is between
 * two of them verifies with either.
 *
 * Source: Standard Webhooks, Signature scheme.
 */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/**
 * Sends mails. The same event has the same `Message-ID` at every attempt, and another one when it is sent again: mail
 * programs drop what they have had.
 */
export function mailer(send: SendMail): Destination {
  return {
    kind: "email",
    send(sending) {
      const { event, route: { address }, repeat, nowMs } = sending;
      const id = `${event.eventId}${repeat === 0 ? "" : `.${repeat}`}`;
      return send({
        tenant: event.tenant,
        address,
        mail: () => mailOf(eventNotification(sending)),
        id,
        nowMs,
      });
    },
  };
}

/** Writes messages. The whole address is a secret: whoever has it can write to the channel. */
function slackWebhook(post: CheckedPost): Destination {
  return {
    kind: "slack",
    send(sending) {
      const body = JSON.stringify({ text: slackText(sending), mrkdwn: false });
      return post.send(sending.route.address, { tenant: sending.event.tenant, body });
    },
  };
}

/** Of each line, in UTF-16 units. */
const lineLengthMax = 200;

/**
 * The message: who, what, where, and links to call and to write. What cannot be a link of these is text.
 *
 * Chosen: sent as `text` alone, because Slack looks for names in it (@here, #general) only when it is told to; and without
 * its markup, so that no asterisk or backtick of a stranger's formats the lines behind it. Links in `<>` work all the same.
 */
export function slackText(sending: Pick<Sending, "event" | "tenant" | "isTest">): string {
  const { banner, opening, title, subtitle, quote, buttons, sections } = eventNotification(sending);
  const contact = sections.find(({ heading }) => heading === "Contact")?.rows ?? [];
  const unlinked = contact.filter(({ label, link }) => /^(?:Phone|Email)$/.test(label) && link === undefined);
  const lines = [banner ?? "", `${opening}: ${title}`, subtitle, quote?.text ?? ""];
  return [
    ...[...lines, ...unlinked.map(({ label, value }) => `${label}: ${value}`)].map(line),
    // Made by us, of what was checked: nothing in it ends a link.
    buttons.map(({ label, detail, href }) => `<${href}|${label} ${detail}>`).join(" · "),
    `Event: ${sending.event.eventId}`,
  ].filter((text) => text !== "").join("\n");
}

function line(text: string): string {
  const start = text.slice(0, lineLengthMax).toWellFormed().replace(/\s+/g, " ");
  return inert(start) + (text.length > lineLengthMax ? "…" : "");
}

/**
 * Text that Slack makes no link and no mention of. The three characters of markup are escaped; and an address, of which
 * Slack would make a link by itself, has a space without width at each joint.
 *
 * Source: Slack, Formatting message text (escaping; automatic parsing).
 */
function inert(text: string): string {
  return text.replace(/(?<=\S)(?::\/\/|\.+)(?=\S)|@+/g, "$&\u200b")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** What the destinations need. */
interface DestinationsOptions extends CheckedPostOptions {
  readonly sendMail: SendMail;
}

/** All of them. */
export function openDestinations(options: DestinationsOptions): readonly Destination[] {
  const post = new CheckedPost(options);
  return [
    crmWebhook(post),
    mailer(options.sendMail),
    slackWebhook(post),
  ];
}
