/**
 * From the path of a request to the name of a file below a folder, and back.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** A path taken apart. */
export interface FilePath {
  /** The names on the way, decoded; none for `/`. */
  readonly names: readonly string[];
  /** The path ends in a slash: it means a folder. */
  readonly isFolder: boolean;
}

/** What any file system takes for one name. */
const nameBytesMax = 255;
const namesMax = 32;
/** Files that begin with a dot are nobody's business, but for what RFC 8615 puts into one folder. */
const wellKnown = ".well-known";

/**
 * Takes a path apart, or gives `null` for one that names nothing: an empty segment, a segment that begins with
 * a dot (`..` among them), one that hides a slash, a backslash or a control character behind an escape, an
 * escape that is not UTF-8 or no escape at all, a raw byte that an address does not have, a name that is too
 * long. Escapes are decoded once: `%252e` is a file called `%2e`.
 */
export function parseFilePath(path: string): FilePath | null {
  // Raw bytes that RFC 3986 does not allow in a path; a backslash is among them.
  if (!/^\/[\w\-.~!$&'()*+,;=:@%/]*$/.test(path)) return null;
  const segments = path.slice(1).split("/");
  const isFolder = segments.at(-1) === "";
  if (isFolder) segments.pop();
  if (segments.length > namesMax) return null;
  const names: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = decode(segment);
    if (name === null || !isName(name) && !(index === 0 && name === wellKnown)) return null;
    names.push(name);
  }
  return { names, isFolder };
}

/** The path of names, as an address has it. */
export function encodeFilePath({ names, isFolder }: FilePath): string {
  return `/${names.map(encodeURIComponent).join("/")}${isFolder && names.length > 0 ? "/" : ""}`;
}

function decode(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function isName(name: string): boolean {
  // deno-lint-ignore no-control-regex
  if (name === "" || name.startsWith(".") || /[/\\\x00-\x1f\x7f-\x9f]/.test(name)) return false;
  return name.length <= nameBytesMax && Buffer.byteLength(name) <= nameBytesMax;
}
