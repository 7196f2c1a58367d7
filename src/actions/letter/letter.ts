/**
 * What a mail says, before it becomes HTML and plain text: one frame for leads, submissions and digests.
 *
 * @module
 */

import type { Row } from "./rows.ts";

/** Whose people read the letter. */
export interface Reader {
  /** The tenant's name. */
  readonly name: string;
  /** IANA; the times that they read. */
  readonly timeZone: string;
}

/** A thing to tap. The address is made by us, of what has been checked. */
export interface Button {
  readonly label: string;
  /** Under it, smaller. */
  readonly detail: string;
  readonly href: string;
}

/** Lines under a heading of their own. */
export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

/** A number to be seen at a glance. */
export interface Figure {
  readonly value: string;
  readonly label: string;
  /** Under it, smaller. */
  readonly detail: string;
}

/** A letter. All of it is text that can do nothing but be read, except where `href` says otherwise. */
export interface Letter {
  /** One line. */
  readonly subject: string;
  /** What a list of mails shows behind the subject. */
  readonly preheader: string;
  /** Above everything else, in a colour that warns. */
  readonly banner: string | null;
  /** Small, above the title. */
  readonly opening: string;
  readonly title: string;
  readonly subtitle: string;
  readonly buttons: readonly Button[];
  readonly figures: readonly Figure[];
  /** What somebody wrote, in his words. */
  readonly quote: { readonly heading: string; readonly text: string } | null;
  /** To be known before one acts. */
  readonly notes: readonly string[];
  readonly sections: readonly Section[];
  /** At the end, small. */
  readonly about: readonly Row[];
  /** Where an answer goes, when not to the sender: one plain address. */
  readonly replyTo: string | null;
}

/** A letter that has nothing but what it must have. */
export const bareLetter = {
  banner: null,
  buttons: [],
  figures: [],
  quote: null,
  notes: [],
  sections: [],
  replyTo: null,
} as const satisfies Partial<Letter>;
