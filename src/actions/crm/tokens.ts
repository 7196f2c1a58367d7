/**
 * Fetches and keeps the OAuth access tokens of recipes: one request for any number of concurrent events, in any number of
 * processes. Tokens are on disk before they are used, because a rotated refresh token replaces the old one.
 */

import { randomUUID } from "node:crypto";
import { limits } from "../../contract/limits.ts";
import type { StoredToken, TokenStore } from "../../store/delivery/tokens.ts";
import { parseObject } from "../../lead/json.ts";
import { type CheckedPost, retryAfterSeconds } from "../checked_post.ts";
import { type Failed, failed, responseText, waiting } from "../outcome.ts";
import type { Mask } from "../secret_mask.ts";
import type { ConfiguredRecipe, OAuth } from "./recipe.ts";

export interface Token {
  readonly accessToken: string;
  /** The other members of the CRM's response, as JSON, without any token. */
  readonly answer: string;
}

interface TokenParts {
  readonly store: TokenStore;
  readonly post: CheckedPost;
  readonly effectTimeoutMs: number;
  readonly monotonicMs: () => number;
}

/** A token with what must be stored before it is used. */
type Renewed = StoredToken & { readonly refreshToken: string | null };

interface TokenRequest {
  readonly tenant: string;
  readonly auth: OAuth;
  readonly configured: ConfiguredRecipe;
  /** An access token that the CRM has refused. */
  readonly refused: string | null;
  /** Hides the secrets in what the CRM answers. */
  readonly mask: Mask;
}

// A process that dies while it renews a token delays the others for this long after its request.
const leaseMarginMs = 10_000;
const busyPollMs = 250;
// Three seconds, because an attempt's time is limited; its event then waits and comes back.
const busyPollsMax = 12;
// Renewed earlier than it expires, by at most a tenth of its time.
const marginMsMax = 60_000;
// Thirty years, which a time stamp of the database can hold.
const validSecondsMax = 1e9;
const cachedMax = 10_000;

export class Tokens {
  readonly #parts: TokenParts;
  readonly #cached = new Map<string, Token & { readonly validUntilMs: number }>();
  readonly #running = new Map<string, Promise<Token | Failed>>();
  /** Tokens that could not be stored, because the database failed; the old ones may be invalid. */
  readonly #unstored = new Map<string, Renewed>();

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /** Returns a credential's token; rejects if the database is unavailable. */
  async get(request: TokenRequest): Promise<Token | Failed> {
    const { configured: { credential }, refused } = request;
    const cached = this.#cached.get(credential);
    const isValid = cached !== undefined && cached.validUntilMs > this.#parts.monotonicMs();
    if (isValid && cached.accessToken !== refused) return cached;
    const running = this.#running.get(credential);
    if (running === undefined) return await this.#start(request);
    const token = await running;
    // A renewal that did not know that the CRM refuses this token.
    return "accessToken" in token && token.accessToken === refused ? await this.#start(request) : token;
  }

  #start(request: TokenRequest): Promise<Token | Failed> {
    const { credential } = request.configured;
    const running = this.#running.get(credential) ??
      this.#renew(request).finally(() => this.#running.delete(credential));
    this.#running.set(credential, running);
    return running;
  }

  async #renew(request: TokenRequest): Promise<Token | Failed> {
    const { configured: { credential }, refused } = request;
    const { store, effectTimeoutMs } = this.#parts;
    const leaseMs = effectTimeoutMs + leaseMarginMs;
    const unstored = this.#unstored.get(credential);
    if (unstored !== undefined) await this.#store(credential, randomUUID(), unstored);
    for (let poll = 0; poll < busyPollsMax; poll++) {
      const lease = randomUUID();
      const claim = await store.begin(credential, { refused, lease, leaseMs });
      if (claim.state === "valid") return this.#cache(credential, claim.token);
      if (claim.state === "due") return await this.#fetch(request, lease, claim.refreshToken);
      await new Promise((resolve) => setTimeout(resolve, busyPollMs));
    }
    return waiting("crm_unfinished", 5_000);
  }

  async #store(credential: string, lease: string, renewed: Renewed): Promise<void> {
    this.#unstored.set(credential, renewed);
    await this.#parts.store.settle(credential, lease, renewed);
    this.#unstored.delete(credential);
  }

  async #fetch(request: TokenRequest, lease: string, refreshToken: string | null): Promise<Token | Failed> {
    const { tenant, configured: { credential }, mask } = request;
    const { store, post } = this.#parts;
    mask.add(refreshToken ?? "");
    const { url, ...sent } = tokenRequest(request, refreshToken);
    const response = await post.request(url, { tenant, method: "POST", ...sent });
    const renewed = "kind" in response ? failed(`token_${response.reason}`) : readToken(response, mask);
    if ("kind" in renewed) {
      await store.settle(credential, lease, null);
      return renewed;
    }
    await this.#store(credential, lease, renewed);
    return this.#cache(credential, renewed);
  }

  #cache(credential: string, { accessToken, answer, validMs }: StoredToken): Token {
    const token = { accessToken, answer, validUntilMs: this.#parts.monotonicMs() + (validMs ?? Infinity) };
    if (this.#cached.size >= cachedMax) this.#cached.clear();
    this.#cached.set(credential, token);
    return token;
  }
}

function tokenRequest(
  { auth, configured: { settings, secrets } }: TokenRequest,
  refreshToken: string | null,
) {
  const value = (setting = "") => secrets[setting] ?? settings[setting] ?? "";
  const [id, secret, scope] = [value(auth.client_id), value(auth.client_secret), value(auth.scope)];
  const isBasic = auth.client_auth === "basic";
  const fields = auth.kind === "oauth2_refresh_token"
    ? { grant_type: "refresh_token", refresh_token: refreshToken ?? value(auth.refresh_token) }
    : { grant_type: "client_credentials" };
  const body = new URLSearchParams({
    ...fields,
    ...(isBasic ? {} : { client_id: id, client_secret: secret }),
    ...(scope === "" ? {} : { scope }),
  });
  const credentials = basicCredentials(encodeURIComponent(id), encodeURIComponent(secret));
  return {
    url: value(auth.token_url),
    body: body.toString(),
    headers: {
      "Content-Type": "application/x-www-form-urlencoded",
      "Accept": "application/json",
      ...(isBasic ? { Authorization: credentials } : {}),
    },
  };
}

/** Returns the value of an `Authorization` header (RFC 7617). */
export function basicCredentials(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** The members of a token's response that are tokens themselves; `token_type` is not. */
const tokenMember = /token$/;

/** Returns what a response without a token says; never all of it, because it may have a token under another name. */
function errorText(fields: Readonly<Record<string, unknown>>): string {
  const { error, error_description } = fields;
  return JSON.stringify(
    error === undefined ? { members: Object.keys(fields) } : { error, error_description },
  );
}

type TokenResponse = Exclude<Awaited<ReturnType<CheckedPost["request"]>>, Failed>;

function readToken(
  { head, body }: TokenResponse,
  mask: Mask,
): Renewed | Failed {
  const { status } = head;
  const text = body.toString("utf8");
  const fields = parseObject(text, limits.jsonDepthMax) ?? {};
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = fields;
  const isSuccess = status >= 200 && status < 300;
  if (!isSuccess || typeof accessToken !== "string" || !/^[\x21-\x7e]+$/.test(accessToken)) {
    const received = { status, answer: responseText(Buffer.from(mask.hide(errorText(fields)))) };
    const isPassing = status === 429 || status >= 500;
    if (isPassing) return failed(`token_http_${status}`, retryAfterSeconds(head), received);
    return { ...waiting("crm_unauthorized", 60_000), ...received };
  }
  const others = Object.entries(fields).filter(([member]) => !tokenMember.test(member));
  const validMs = Number(seconds) > 0 ? Math.min(Number(seconds), validSecondsMax) * 1_000 : null;
  return {
    accessToken,
    refreshToken: typeof refreshToken === "string" && /^[\x20-\x7e]+$/.test(refreshToken)
      ? refreshToken
      : null,
    answer: JSON.stringify(Object.fromEntries(others)),
    validMs: validMs === null ? null : validMs - Math.min(marginMsMax, validMs / 10),
  };
}
