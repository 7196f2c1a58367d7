/** Web links in a text, and their signs; in linear time. This module is browser compatible. */

import { fieldsOf, type ReadField, type Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));
/** Hosts of listings, plans, photos and mail. */
const familiarHosts = set(
  "airbnb.com amazon.com box.com craigslist.org dropbox.com facebook.com flickr.com gmail.com google.com goo.gl homedepot.com hotmail.com " +
    "houzz.com ibb.co icloud.com ikea.com imgur.com instagram.com kijiji.ca lowes.com nextdoor.com outlook.com pinterest.com realtor.ca " +
    "realtor.com redfin.com thumbtack.com trulia.com vrbo.com yahoo.com yelp.com youtu.be youtube.com zillow.com",
);
/** Link shorteners. */
const shorteners = set(
  "bit.ly bl.ink buff.ly clck.ru cutt.ly goo.su is.gd linktr.ee ow.ly rb.gy rebrand.ly s.id short.io shorturl.at t.co t.ly tiny.cc " +
    "tinyurl.com u.to v.gd vk.cc",
);
/** Hosts whose links open a chat. */
const chatHosts = set("api.whatsapp.com chat.whatsapp.com t.me telegram.me wa.link wa.me");
/** Top-level domains that make a bare `name.tld` a link; those that are words are left out. */
const bareDomains = set(
  "agency app biz buzz ca click club cn co com de dev digital es example fr icu info invalid io link live marketing mx net online org " +
    "page pro ru shop site store tech test top uk us vip website xyz",
);
export interface Link {
  /** Lower case, without `www.`. */
  readonly host: string;
  readonly familiar: boolean;
  readonly shortener: boolean;
  readonly odd: boolean;
  readonly chat: boolean;
}

const chunks = /[^\s<>"'()\[\]{}|\\^`,;*]+/g;
const schemes = ["https://", "http://", "hxxps://", "hxxp://", "ftp://", "//"];

/** The links of a text, in order. */
export function findLinks(text: string): readonly Link[] {
  if (!text.includes(".") && !text.includes("://")) return [];
  const links: Link[] = [];
  for (const [chunk] of text.matchAll(chunks)) {
    if (!chunk.includes(".") && !chunk.includes("//")) continue;
    const link = readLink(chunk.toLowerCase());
    if (link !== undefined) links.push(link);
  }
  return links;
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
  return {
    host,
    familiar: isListed(familiarHosts, host) || /\.(jpe?g|png|heic|webp|gif|pdf|mp4|mov)$/.test(rest),
    shortener: isListed(shorteners, host),
    odd: isAddress || host.includes("xn--") || at >= 0 || port !== undefined && !/^(80|443)?$/.test(port) ||
      host.split(".").length > 5,
    chat: isListed(chatHosts, host),
  };
}

/** Drops the punctuation that ends a sentence. */
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
  // "gotta go.To the roof" and "etc.and/or" are typos.
  return bareDomains.has(top) && (labels.at(-2) as string).length > 1 ||
    hasPath && (isListed(shorteners, host) || isListed(chatHosts, host) || isListed(familiarHosts, host));
}

function isListed(list: ReadonlySet<string>, host: string): boolean {
  let rest = host;
  for (let depth = 0; depth < 8; depth++) {
    if (list.has(rest)) return true;
    const dot = rest.indexOf(".");
    if (dot < 0) return false;
    rest = rest.slice(dot + 1);
  }
  return false;
}

/** `<a href`, `[url=…]`, `[link=…]`, and Markdown's `](http`. */
const markup = /<\s?a\s[^<>]{0,200}href|\[url[\]=]|\[link[\]=]|\]\(https?:|<\/a>/i;
/** An address disguised from filters. */
const disguised =
  /[[({]\s?(dot|punto|point|\.)\s?[\])}]\s?(com|net|org|info|biz|io|ru|xyz|example)\b|\w (dot|punto|point) (com|net|org|example)\b|hxxps?:/i;

/** The signs of a submission's links; links to the form's own site do not count. */
export function linkSigns(reading: Reading): readonly Sign[] {
  const ownHost = findLinks(reading.pageUrl)[0]?.host;
  const linksOf = (fields: readonly ReadField[]) =>
    fields.flatMap(({ shown }) => findLinks(shown)).filter(({ host }) => host !== ownHost);
  const texts = fieldsOf(reading, "message", "answer", "company");
  const links = linksOf(texts);
  const misplaced = linksOf(fieldsOf(reading, "name", "phone", "place"));
  const all = [...links, ...misplaced, ...linksOf(fieldsOf(reading, "link"))];
  const isOnly = fieldsOf(reading, "message").some((field) =>
    linksOf([field]).some((link) => !link.familiar) && wordsBesides(field.shown) <= 3
  );
  return [
    ["links", links.filter((link) => !link.familiar && !link.chat && !link.shortener).length],
    ["link_only", isOnly],
    ["link_in_name", misplaced.length],
    ["link_shortener", all.some((link) => link.shortener)],
    ["link_odd_host", all.some((link) => link.odd)],
    ["chat_link", all.some((link) => link.chat)],
    ["link_disguised", texts.some(({ shown }) => disguised.test(shown))],
    ["link_markup", reading.fields.some(({ shown }) => markup.test(shown))],
  ];
}

/** The number of words that are not links. */
function wordsBesides(text: string): number {
  return text.split(/\s+/).filter((part) => !/[.][a-z]{2}|:\/\//i.test(part)).length;
}
