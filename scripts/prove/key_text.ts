/**
 * Texts of API keys, as the documents describe them: made here a second time, and not by the service's code.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Chance } from "./chance.ts";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A key with 32 characters of chance and its checksum. */
export function keyText(chance: Chance, prefix: "lead_live_" | "lead_test_" | "form_live_"): string {
  const body = prefix + Array.from({ length: 32 }, () => digits[chance.below(62)]).join("");
  let rest = crc32(body);
  let sum = "";
  for (let place = 0; place < 6; place += 1, rest = Math.floor(rest / 62)) sum = `${digits[rest % 62]}${sum}`;
  return body + sum;
}

/** What the database keeps of it, in hex. */
export function keyDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
