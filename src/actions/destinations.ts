/**
 * Where events can go.
 *
 * @module
 */

import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import { crmWebhook } from "./crm_webhook.ts";
import type { Destination } from "./destination.ts";
import { type MailConfig, mailer } from "./email.ts";
import { slackWebhook } from "./slack.ts";

/** What the destinations need. */
export interface DestinationsOptions extends CheckedPostOptions {
  /** `null`: there is no way to send mail, and email effects fail. */
  readonly mail: MailConfig | null;
}

/** All of them. */
export function openDestinations(options: DestinationsOptions): readonly Destination[] {
  const { mail, timeoutMs } = options;
  const post = new CheckedPost(options);
  return [
    crmWebhook(post),
    mailer(mail === null ? null : { ...mail, timeoutMs }),
    slackWebhook(post),
  ];
}
