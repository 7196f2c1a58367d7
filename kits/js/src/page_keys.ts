/**
 * The idempotency keys of a page's leads. This module is browser compatible.
 *
 * A key is made of the tab's seed, the form's name and the content. The same content so has the same key however often
 * it is sent, and another content another one: `duplicate` can only mean that this very content is stored, whatever
 * answer was lost before and whoever else shares the seed, such as a duplicated tab.
 *
 * Only the seed is kept, in `sessionStorage`: a reload finds it again, and another tab has its own. What the visitor
 * typed is kept nowhere.
 *
 * @module
 */

const item = "leads-js";
/** Kept for the life of the page, too: the storage may be closed, full, or emptied by another script. */
let tabSeed: string | undefined;

/** The key to send a form's content with. */
export function keyFor(form: string, content: string): string {
  tabSeed ??= findSeed();
  // The content is JSON and has no line break: no other form and content give the same text.
  return digest([tabSeed, form, content].join("\n"));
}

/** The tab's seed. It is stored before anything is sent, for a reload may come at any time. */
function findSeed(): string {
  try {
    const stored = sessionStorage.getItem(item);
    // Anything on the page may have written there.
    if (stored !== null && /^[0-9a-f]{32}$/.test(stored)) return stored;
  } catch {
    // Closed.
  }
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const seed = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    sessionStorage.setItem(item, seed);
  } catch {
    // Closed or full: the memory has it until the page is left.
  }
  return seed;
}

/** Rounds after the last character, so that it reaches every bit. */
const roundsAfter = 8;

/**
 * 128 bits in hexadecimal, to tell one text from the next; nobody has to be kept from finding a second text. It is not
 * the platform's, which answers later: a form may be sent as its page is left.
 */
function digest(text: string): string {
  let [a, b, c, d] = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  // Each round can be undone, so that texts of one length with one character between them never meet.
  for (let index = 0; index < text.length + roundsAfter; index += 1) {
    const code = index < text.length ? text.charCodeAt(index) : text.length;
    a = Math.imul(a ^ code, 0x9e3779b1) ^ (d >>> 15);
    b = Math.imul(b ^ a, 0x85ebca77) ^ (a >>> 13);
    c = Math.imul(c ^ b, 0xc2b2ae3d) ^ (b >>> 16);
    d = Math.imul(d ^ c, 0x27d4eb2f) ^ (c >>> 14);
  }
  return [a, b, c, d].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
