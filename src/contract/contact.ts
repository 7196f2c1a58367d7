/**
 * Whom partners write to about a key, as the documents and the pages name it. This module is browser compatible.
 *
 * @module
 */

// Without the characters that mean something in Markdown, HTML or a mailto address.
const shape = /^[A-Za-z0-9._%+-]{1,64}@(?=.{1,253}$)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;

/** Whether a text can be named as a contact. */
export function isContact(text: string): boolean {
  return shape.test(text);
}

/** A sentence of Markdown that names the contact; empty where there is none. */
export function contactSentence(contact: string | null): string {
  return contact === null
    ? ""
    : `For a key, or one that is answered with 401, write to [${contact}](mailto:${contact}).`;
}
