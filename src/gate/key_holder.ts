/**
 * Who posts: the key of a request, and whether it has been revoked since it was looked at.
 *
 * @module
 */

import { hash } from "node:crypto";
import { type KeySurface, keySurface } from "../contract/api_key.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ApiKey, KeyStore } from "../store/serving/key_lookup.ts";

// A 429 is an answer to a key holder too, but it must stay cheap under a flood: a key that was active this
// recently is not looked up again for it.
const limitedKeyAgeMaxMs = 1_000;

/**
 * A key that a request has shown. From the cache it may only be led to its commit; before any other answer the
 * store is asked.
 *
 * Source: DECISIONS, The intake endpoint (key check).
 */
export class KeyHolder {
  readonly key: ApiKey;
  readonly #keys: KeyStore;
  readonly #digest: string;
  readonly #isCached: boolean;

  private constructor(
    key: ApiKey,
    found: { readonly keys: KeyStore; readonly digest: string; readonly isCached: boolean },
  ) {
    this.key = key;
    this.#keys = found.keys;
    this.#digest = found.digest;
    this.#isCached = found.isCached;
  }

  /**
   * The holder of the request's `X-API-Key`, or `null`: 401. A wrong checksum costs no query, and neither does a key
   * of the other surface. The access log learns the key's id.
   *
   * @throws {Unavailable} when the store cannot be read
   */
  static async of(exchange: Exchange, keys: KeyStore, surface: KeySurface): Promise<KeyHolder | null> {
    const text = exchange.header("x-api-key") ?? "";
    if (keySurface(text) !== surface) return null;
    const digest = hash("sha256", text, "hex");
    const cached = keys.cached(digest);
    const key = cached ?? await keys.find(digest);
    if (key === null) return null;
    exchange.keyId = String(key.id);
    return new KeyHolder(key, { keys, digest, isCached: cached !== null });
  }

  /** Whether the store no longer has the key. Throws {@linkcode Unavailable} when it cannot be read. */
  async isRevoked(): Promise<boolean> {
    return this.#isCached && await this.#keys.find(this.#digest) === null;
  }

  /** The same before a 429: true is true, but an active key may have been revoked within the last second. */
  async isRevokedBeforeLimit(): Promise<boolean> {
    return this.#keys.cached(this.#digest, limitedKeyAgeMaxMs) === null && await this.isRevoked();
  }

  /** Forgets a key that a commit has found revoked. */
  forget(): void {
    this.#keys.forget(this.#digest);
  }
}
