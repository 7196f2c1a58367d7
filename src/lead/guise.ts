/**
 * What a body seems to be that is no JSON object: a form, a page, something packed. This module is browser compatible.
 *
 * @module
 */

/** What a body may seem to be, by the name that the log has for it, in words. */
export const guises = {
  empty: "the body is empty; a JSON object is needed",
  form_encoded: "the body is form-encoded; a JSON object is needed",
  multipart: "the body is multipart/form-data; a JSON object is needed",
  html: "the body is an HTML page; a JSON object is needed",
  xml: "the body is XML; a JSON object is needed",
  percent_encoded: "the body is percent-encoded; the JSON itself is needed",
  base64: "the body is base64; the JSON itself is needed",
  object_object:
    "the body is what JavaScript calls an object that was not turned into JSON; JSON.stringify turns it into JSON",
  utf16: "the body is UTF-16; UTF-8 is needed",
  compressed: "the body is compressed; it is needed as it is",
  not_utf8: "the body is not UTF-8; perhaps it is Latin-1 or Windows-1252",
} as const;

/** The name of a guise. */
export type Guise = keyof typeof guises;

/** Looked at from the beginning of the text, white space apart; the first that fits. */
const texts: readonly (readonly [Guise, RegExp])[] = [
  ["utf16", /^(?:\0[{\s]|[{\s]\0)/],
  ["empty", /^$/],
  ["html", /^<(?:!doctype html|html)/i],
  ["xml", /^</],
  ["multipart", /^--[^\s][^\n]{0,100}\n[^\n]{0,20}content-disposition:/i],
  ["percent_encoded", /^%7b/i],
  ["object_object", /^\[object \w{1,20}\]/],
  // How `{"`, `{ `, a brace with a line break and `[{` begin in it.
  ["base64", /^(?:ey[A-DI-L]|ew[k-r0-3]|W3[s-v])[\w+/-]{8}/],
  ["form_encoded", /^[\w.%+[\]-]{1,100}=/],
];

/** The most that a guise is known by; what follows is not looked at. */
const lookedAt = 200;

/** What a text that `JSON.parse` has refused seems to be; `null` for what is JSON with a fault, or unknown. */
export function guiseOf(text: string): Guise | null {
  const beginning = text.trimStart().slice(0, lookedAt);
  return texts.find(([, pattern]) => pattern.test(beginning))?.[0] ?? null;
}

/** How files begin that something has packed: gzip, zlib, zip, Zstandard. */
const packed = [[0x1f, 0x8b], [0x78, 0x01], [0x78, 0x9c], [0x78, 0xda], [0x50, 0x4b, 3], [
  0x28,
  0xb5,
  0x2f,
  0xfd,
]];
const utf16Marks = [[0xff, 0xfe], [0xfe, 0xff]];

/** What bytes that are not UTF-8 seem to be. */
export function guiseOfBytes(bytes: Uint8Array): Guise {
  const begins = (marks: readonly (readonly number[])[]) =>
    marks.some((mark) => mark.every((byte, index) => bytes[index] === byte));
  if (begins(packed)) return "compressed";
  return begins(utf16Marks) || bytes[0] === 0 || bytes[1] === 0 ? "utf16" : "not_utf8";
}
