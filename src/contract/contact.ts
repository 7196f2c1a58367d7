/** The contact address for partners. This module is browser compatible. */

// Excludes characters that have a meaning in Markdown, HTML or mailto addresses.
const shape = /^[A-Za-z0-9._%+-]{1,64}@(?=.{1,253}$)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;

/** Whether a text is usable as the contact. */
export function isContact(text: string): boolean {
  return shape.test(text);
}

/** A Markdown sentence with the contact; empty for `null`. */
export function contactSentence(contact: string | null): string {
  return contact === null
    ? ""
    : `To get a key, or if yours is answered with 401, write to [${contact}](mailto:${contact}).`;
}
