/**
 * Finds web links in text. Linear in the text: split by characters, never by a pattern
 * that backtracks. This module is browser compatible.
 *
 * @module
 */

import { chatHosts, familiarHosts, shorteners } from "./data/hosts.ts";
import { bareDomains, cheapDomains } from "./data/top_level_domains.ts";

/** A link that stands in a text. */
export interface Link {
  /** Lower case, without `www.`. */
  readonly host: string;
  /** It has a scheme or `www.`; else it is a bare `name.com`. */
  readonly explicit: boolean;
  readonly familiar: boolean;
  readonly shortener: boolean;
  readonly odd: boolean;
  readonly cheap: boolean;
  readonly chat: boolean;
  readonly disguised: boolean;
}

const chunks = /[^\s<>"'()\[\]{}|\\^`,;*]+/g;
const schemes = ["https://", "http://", "hxxps://", "hxxp://", "ftp://", "//"];

/** Finds the links of a text, in their order. */
export function findLinks(text: string): readonly Link[] {
  if (!text.includes(".") && !text.includes("://")) return [];
  const links: Link[] = [];
  for (const [chunk] of text.matchAll(chunks)) {
    if (!chunk.includes(".") && !chunk.includes("//")) continue;
    for (const part of splitSchemes(chunk.toLowerCase())) {
      const link = readLink(part);
      if (link !== undefined) links.push(link);
    }
  }
  return links;
}

/** Addresses that were run together: `http://a.comhttp://b.com`. */
function splitSchemes(chunk: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = chunk.indexOf("://"); at >= 0; at = chunk.indexOf("://", at + 3)) {
    let start = at;
    while (start > from && at - start < 5 && /[a-z]/.test(chunk.charAt(start - 1))) start--;
    if (start > from) parts.push(chunk.slice(from, start));
    from = start;
  }
  parts.push(chunk.slice(from));
  return parts;
}

function readLink(part: string): Link | undefined {
  const scheme = schemes.find((one) => part.startsWith(one));
  const rest = part.slice(scheme?.length ?? 0);
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  if (authority.length > 253) return undefined;
  const at = authority.lastIndexOf("@");
  // Without a scheme it is a mail address.
  if (at >= 0 && scheme === undefined) return undefined;
  const [named = "", port] = authority.slice(at + 1).split(":");
  const isWww = named.startsWith("www.");
  const host = withoutMarks((isWww ? named.slice(4) : named).replace(/^[^a-z0-9]+/, ""));
  const explicit = scheme !== undefined && scheme !== "//" || isWww;
  const isAddress = /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || /^(0x[0-9a-f]+|\d{8,10})$/.test(host) && explicit;
  if (!isAddress && !isDomain(host, explicit, end >= 0)) return undefined;
  if (isAddress && !explicit && end < 0) return undefined;
  const top = host.slice(host.lastIndexOf(".") + 1);
  return {
    host,
    explicit,
    familiar: isListed(familiarHosts, host) || /\.(jpe?g|png|heic|webp|gif|pdf|mp4|mov)$/.test(rest),
    shortener: isListed(shorteners, host),
    odd: isAddress || host.includes("xn--") || at >= 0 || port !== undefined && !/^(80|443)?$/.test(port) ||
      host.split(".").length > 5,
    cheap: cheapDomains.has(top) && !isAddress,
    chat: isListed(chatHosts, host),
    disguised: scheme?.startsWith("hxxp") ?? false,
  };
}

/** Without the marks that end a sentence. */
function withoutMarks(text: string): string {
  let end = text.length;
  while (end > 0 && ".!?…".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function isDomain(host: string, explicit: boolean, hasPath: boolean): boolean {
  const labels = host.split(".");
  if (labels.length < 2 || labels.some((label) => label === "" || label.length > 63)) return false;
  const top = labels.at(-1) as string;
  if (!/^(xn--[a-z0-9-]+|\p{L}{2,24})$/u.test(top)) return false;
  if (explicit) return true;
  if (!labels.every((label) => /^[\p{L}\p{N}_-]+$/u.test(label))) return false;
  // "gotta go.To the roof" and "etc.and/or" are typing mistakes.
  return bareDomains.has(top) && (labels.at(-2) as string).length > 1 ||
    hasPath && (isListed(shorteners, host) || isListed(chatHosts, host) || isListed(familiarHosts, host));
}

/** Tells whether a host, or a domain above it, is in a list. */
export function isListed(list: ReadonlySet<string>, host: string): boolean {
  let rest = host;
  for (let depth = 0; depth < 8; depth++) {
    if (list.has(rest)) return true;
    const dot = rest.indexOf(".");
    if (dot < 0) return false;
    rest = rest.slice(dot + 1);
  }
  return false;
}
