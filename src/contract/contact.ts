/** The contact address for partners. This module is browser compatible. */

// Excludes the characters with a special meaning in HTML, and most of those in Markdown and mailto URLs.
const contactPattern = /^[A-Za-z0-9._%+-]{1,64}@(?=.{1,253}$)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;

/** Whether a text is an email address that can be published as the contact. */
export function isContact(text: string): boolean {
  return contactPattern.test(text);
}

/** Returns a Markdown sentence with the contact address; `""` if `contact` is `null`. */
export function contactSentence(contact: string | null): string {
  return contact === null
    ? ""
    : `To get a key, or if yours gets a 401, write to [${contact}](mailto:${contact}).`;
}
