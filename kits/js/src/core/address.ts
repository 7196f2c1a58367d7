/**
 * The address of the intake. This module is browser compatible.
 *
 * @module
 */

import { MisconfiguredError } from "./errors.ts";
import { limits } from "./limits.ts";

/**
 * The base address without a slash at its end.
 *
 * @throws {MisconfiguredError} unless it is `https://`, or `http://` to this machine, without user information, query
 * or fragment
 */
export function readAddress(text: unknown): string {
  // No message quotes the address: it may have a password in it.
  if (typeof text !== "string" || text === "") throw new MisconfiguredError("No base address was given");
  const url = parse(text);
  if (url === null) throw new MisconfiguredError("The base address is not a URL");
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/]*@/i.test(text)) {
    throw new MisconfiguredError("The base address has user information in it");
  }
  if (/[?#]/.test(text)) throw new MisconfiguredError("The base address has a query or a fragment");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isThisMachine(url.hostname))) {
    throw new MisconfiguredError("The base address does not begin with https://");
  }
  return url.origin + url.pathname.replace(/\/$/, "");
}

function parse(text: string): URL | null {
  // The URL parser would pass over white space and take backslashes for slashes.
  if (text.length > limits.addressLengthMax || !/^[a-z]+:\/\/[^\s\\/][^\s\\]*$/i.test(text)) return null;
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Whether a host name, as the URL parser writes it, is this machine. */
export function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
