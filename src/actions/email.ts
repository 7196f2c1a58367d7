/**
 * The email effect: one mail to the tenant's address.
 *
 * @module
 */

import type { Destination } from "./destination.ts";
import { eventLetter } from "./letter/event.ts";
import { mailOf } from "./letter/mail.ts";
import type { SendMail } from "./smtp.ts";

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
      return send({ tenant: event.tenant, address, mail: () => mailOf(eventLetter(sending)), id, nowMs });
    },
  };
}
