/**
 * Where events can go.
 *
 * @module
 */

import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import { crmWebhook } from "./crm_webhook.ts";
import type { Destination } from "./destination.ts";
import { mailer } from "./email.ts";
import { slackWebhook } from "./slack.ts";
import type { SendMail } from "./smtp.ts";

/** What the destinations need. */
export interface DestinationsOptions extends CheckedPostOptions {
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
