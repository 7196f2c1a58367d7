/** Finds the links in a submission and the spam signals in them, in linear time. This module is browser compatible. */

import { excerptMax, fieldsWithRole, type ParsedField, type ParsedSubmission, wordSet } from "./parse.ts";
import type { Signal } from "./reasons.ts";

/** Hosts of listings, plans, photos and email, to which legitimate messages link. */
const familiarHosts = wordSet(
  "airbnb.com amazon.com box.com craigslist.org dropbox.com facebook.com flickr.com gmail.com google.com goo.gl homedepot.com hotmail.com " +
    "houzz.com ibb.co icloud.com ikea.com imgur.com instagram.com kijiji.ca lowes.com nextdoor.com outlook.com pinterest.com realtor.ca " +
    "realtor.com redfin.com thumbtack.com trulia.com vrbo.com yahoo.com yelp.com youtu.be youtube.com zillow.com",
);
const shorteners = wordSet(
  "bit.ly bl.ink buff.ly clck.ru cutt.ly goo.su is.gd linktr.ee ow.ly rb.gy rebrand.ly s.id short.io shorturl.at t.co t.ly tiny.cc " +
    "tinyurl.com u.to v.gd vk.cc",
);
/** Hosts whose links open a chat. */
const chatHosts = wordSet("api.whatsapp.com chat.whatsapp.com t.me telegram.me wa.link wa.me");
/** Top-level domains that make a bare `name.tld` a link; not `to`, `it` and others that often result from typos. */
const bareDomains = wordSet(
  "agency app biz buzz ca click club cn co com de dev digital es example fr icu info invalid io link live marketing mx net online org " +
    "page pro ru shop site store tech test top uk us vip website xyz",
);
interface Link {
  /** The host in lower case, without `www.`. */
  readonly host: string;
  readonly isFamiliar: boolean;
  readonly isShortened: boolean;
  readonly hasOddHost: boolean;
  readonly isChat: boolean;
  /** Whether the path names a policy, as the links in a site's consent text do. */
  readonly isPolicy: boolean;
}

const policyPath =
  /^\/[^?#]*\b(privacy|polic(y|ies)|terms|conditions|legal|disclaimer|consent|sms|tos|tcpa|datenschutz|agb|impressum|privacidad|terminos|aviso|confidentialite|mentions|cg[uv]|informativa|voorwaarden|regulamin)\b/;
/** The maximum number of a site's links to its policies that are ignored. */
const policyLinksMax = 3;

const chunks = /[^\s<>"'()\[\]{}|\\^`,;*]+/g;
const schemes = ["https://", "http://", "hxxps://", "hxxp://", "ftp://", "//"];

function findLinks(text: string): readonly Link[] {
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
  const scheme = schemes.find((prefix) => part.startsWith(prefix));
  const rest = part.slice(scheme?.length ?? 0);
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  if (authority.length > 253) return undefined;
  const at = authority.lastIndexOf("@");
  // Without a scheme, a part with an `@` is an email address.
  if (at >= 0 && scheme === undefined) return undefined;
  const [hostname = "", port] = authority.slice(at + 1).split(":");
  const isWww = hostname.startsWith("www.");
  const host = withoutEndPunctuation((isWww ? hostname.slice(4) : hostname).replace(/^[^a-z0-9]+/, ""));
  const isExplicit = scheme !== undefined && scheme !== "//" || isWww;
  const isAddress = /^\d{1,3}(\.\d{1,3}){3}$/.test(host) ||
    /^(0x[0-9a-f]+|\d{8,10})$/.test(host) && isExplicit;
  if (!isAddress && !isDomain(host, isExplicit, end >= 0)) return undefined;
  if (isAddress && !isExplicit && end < 0) return undefined;
  return {
    host,
    isFamiliar: isListed(familiarHosts, host) || /\.(jpe?g|png|heic|webp|gif|pdf|mp4|mov)$/.test(rest),
    isShortened: isListed(shorteners, host),
    hasOddHost: isAddress || host.includes("xn--") || at >= 0 ||
      port !== undefined && !/^(80|443)?$/.test(port) ||
      host.split(".").length > 5,
    isChat: isListed(chatHosts, host),
    isPolicy: policyPath.test(end < 0 ? "" : rest.slice(end)),
  };
}

/** Removes a sentence's final punctuation. */
function withoutEndPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && ".!?…".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function isDomain(host: string, isExplicit: boolean, hasPath: boolean): boolean {
  const labels = host.split(".");
  if (labels.length < 2 || labels.some((label) => label === "" || label.length > 63)) return false;
  const top = labels.at(-1) as string;
  if (!/^(xn--[a-z0-9-]+|\p{L}{2,24})$/u.test(top)) return false;
  if (isExplicit) return true;
  if (!labels.every((label) => /^[\p{L}\p{N}_-]+$/u.test(label))) return false;
  // Not links, but typos: "gotta go.To the roof" and "etc.and/or".
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

/** Matches `<a href`, `[url=…]`, `[link=…]`, and Markdown's `](http`. */
const markup = /<\s?a\s[^<>]{0,200}href|\[url[\]=]|\[link[\]=]|\]\(https?:|<\/a>/i;
/** Matches a URL that is disguised from filters. */
const disguised =
  /[[({]\s?(dot|punto|point|\.)\s?[\])}]\s?(com|net|org|info|biz|io|ru|xyz|example)\b|\w (dot|punto|point) (com|net|org|example)\b|hxxps?:/i;

/**
 * Returns the signals in a submission's links and link markup. Plain links to the form's own site are ignored, as are a site's links
 * to its policies ({@linkcode countPolicies}).
 */
export function linkSignals(parsed: ParsedSubmission): readonly Signal[] {
  const ownHost = findLinks(parsed.pageUrl)[0]?.host;
  const linksIn = (text: string) => findLinks(text).filter(({ host }) => host !== ownHost);
  const externalLinks = (fields: readonly ParsedField[]) => fields.flatMap(({ excerpt }) => linksIn(excerpt));
  const messages = fieldsWithRole(parsed, "message");
  const answers = fieldsWithRole(parsed, "answer", "company");
  const texts = [...messages, ...fieldsWithRole(parsed, "text", "site"), ...answers];
  const disclosed = parsed.fields.flatMap(({ disclosure }) => linksIn(disclosure.slice(0, excerptMax)));
  const links = [...externalLinks(texts), ...disclosed];
  const misplacedLinks = externalLinks(fieldsWithRole(parsed, "name", "phone", "place"));
  const allLinks = [...links, ...misplacedLinks, ...externalLinks(fieldsWithRole(parsed, "link"))];
  const isLinkOnly = messages.some((field) =>
    externalLinks([field]).some((link) => !link.isFamiliar) && countOtherWords(field.excerpt) <= 3
  );
  const isPlain = (link: Link) => !link.isFamiliar && !link.isChat && !link.isShortened;
  const policies = [
    ...externalLinks(texts.filter((field) => !messages.includes(field))).filter(({ isPolicy }) => isPolicy),
    ...disclosed,
  ];
  // A site may send one more address of its own, and a visitor that of a listing.
  const lone = answers.some(({ text }) => /^https?:\/\/\S+$/i.test(text)) ? 1 : 0;
  return [
    ["links", Math.max(0, links.filter(isPlain).length - countPolicies(policies.filter(isPlain)) - lone)],
    ["link_only", isLinkOnly],
    ["link_in_name", misplacedLinks.length],
    ["link_shortener", allLinks.some((link) => link.isShortened)],
    ["link_odd_host", allLinks.some((link) => link.hasOddHost)],
    ["chat_link", allLinks.some((link) => link.isChat)],
    ["link_disguised", texts.some(({ excerpt }) => disguised.test(excerpt))],
    ["link_markup", parsed.fields.some(({ excerpt }) => markup.test(excerpt))],
  ];
}

/** Returns how many of the links in disclosures, and to policies outside messages, are the site's: all, if few and on one host. */
function countPolicies(links: readonly Link[]): number {
  return links.length <= policyLinksMax && new Set(links.map(({ host }) => host)).size === 1
    ? links.length
    : 0;
}

/** Counts the words that do not look like links. */
function countOtherWords(text: string): number {
  return text.split(/\s+/).filter((part) => !/[.][a-z]{2}|:\/\//i.test(part)).length;
}
