/**
 * The Slack effect: one message in a channel of the tenant's, through an incoming webhook.
 *
 * @module
 */

import type { CheckedPost } from "./checked_post.ts";
import type { Destination, Sending } from "./destination.ts";
import { eventLetter } from "./letter/event.ts";
import { plainText } from "./letter/plain_text.ts";

/**
 * Chosen: shorter than the 4,000 characters after which Slack makes several messages of one; it cuts at 40,000, which
 * escaped text of this length does not reach.
 */
const textLengthMax = 3_500;

/** Writes messages. The whole address is a secret: whoever has it can write to the channel. */
export function slackWebhook(post: CheckedPost): Destination {
  return {
    kind: "slack",
    send(sending) {
      const body = JSON.stringify({ text: slackText(sending), mrkdwn: false });
      return post.send(sending.route.address, { tenant: sending.event.tenant, body });
    },
  };
}

/**
 * The message: what the mail says, cut when it is too long.
 *
 * Chosen: sent as `text` alone, because Slack looks for names in it (@here, #general) only when it is told to; and without
 * its markup, so that no asterisk or backtick of a stranger's formats the lines behind it.
 */
export function slackText(sending: Pick<Sending, "event" | "tenant" | "isTest">): string {
  const text = plainText(eventLetter(sending));
  if (text.length <= textLengthMax) return inert(text);
  const start = text.slice(0, textLengthMax).toWellFormed();
  return `${inert(start)}…\n\nThere is more than a message has room for. Event: ${sending.event.eventId}\n`;
}

/**
 * Text that Slack makes no link and no mention of, but for a plain mail address, which whoever calls the lead back copies
 * or taps. The three characters of markup are escaped; and a web address, of which Slack would make a link by itself, has
 * a space without width at each joint.
 *
 * Source: Slack, Formatting message text (escaping; automatic parsing).
 */
function inert(text: string): string {
  return text.replace(/\S+/g, (word) => mailAddress.test(word) ? word : word.replace(joints, "$&\u200b"))
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const mailAddress = /^[\w.+-]+@[a-z\d-]+(?:\.[a-z\d-]+)+$/i;
const joints = /(?<=\S)(?::\/\/|\.+)(?=\S)|@+/g;
