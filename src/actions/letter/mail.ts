/**
 * The mail of a letter: subject, plain text and HTML.
 *
 * @module
 */

import { letterHtml } from "./html.ts";
import type { Letter } from "./letter.ts";
import { plainText } from "./plain_text.ts";

/** A mail without its addresses. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** One plain address, or `null` when an answer goes to the sender. */
  readonly replyTo: string | null;
  /** Whether the HTML lacks something, so that the text has to be attached: few programs show it beside HTML. */
  readonly isCut: boolean;
}

/** Writes it. */
export function mailOf(letter: Letter): MailText {
  const { html, isCut } = letterHtml(letter);
  return {
    subject: letter.subject,
    text: plainText(letter, { isLinked: true }),
    html,
    replyTo: letter.replyTo,
    isCut,
  };
}
