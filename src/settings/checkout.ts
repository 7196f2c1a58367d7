/** Reads the checkout's settings. */

import { isLoopbackHostname } from "../http/addresses.ts";
import type { SettingsReader } from "./reader.ts";
import { variables } from "./variables.ts";

export interface CheckoutConfig {
  /** The allowed browser origins. */
  readonly origins: ReadonlySet<string>;
  /** `null` if no provider is configured; a checkout then gets 503. */
  readonly provider: ProviderConfig | null;
}

export interface ProviderConfig {
  readonly secretKey: string;
  /** The secrets that verify the provider's events; more than one during a rotation. */
  readonly webhookSecrets: readonly string[];
  readonly apiUrl: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
}

type Reader = SettingsReader<keyof typeof variables>;

/** The provider's settings; either all or none must be set. */
const requiredSettings = [
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "CHECKOUT_SUCCESS_URL",
  "CHECKOUT_CANCEL_URL",
] as const;

/**
 * Returns `null` if no setting is set. Chosen: origins are accepted without a provider, so that a storefront can be built
 * first.
 */
export function readCheckoutConfig(read: Reader): CheckoutConfig | null {
  const origins = readOrigins(read);
  const isSet = (name: (typeof requiredSettings)[number]) => read.text(name) !== null;
  if (!requiredSettings.some(isSet)) {
    if (read.text("STRIPE_API_URL") !== null) {
      read.faults.push("STRIPE_API_URL is set without STRIPE_SECRET_KEY");
    }
    return origins === null ? null : { origins, provider: null };
  }
  for (const name of requiredSettings) {
    if (!isSet(name)) read.faults.push(`${name} is not set; the checkout requires it`);
  }
  if (origins === null) {
    read.faults.push("CHECKOUT_ORIGINS is not set; the checkout requires it");
  }
  return {
    origins: origins ?? new Set(),
    provider: {
      secretKey: readSecretKey(read),
      webhookSecrets: readWebhookSecrets(read),
      apiUrl: readApiUrl(read),
      successUrl: readPage(read, "CHECKOUT_SUCCESS_URL"),
      cancelUrl: readPage(read, "CHECKOUT_CANCEL_URL"),
    },
  };
}

function readOrigins(read: Reader): ReadonlySet<string> | null {
  const text = read.text("CHECKOUT_ORIGINS");
  if (text === null) return null;
  const origins = text.split(",").map((origin) => origin.trim()).filter((origin) => origin !== "");
  if (origins.length === 0) read.faults.push("CHECKOUT_ORIGINS contains no origin");
  for (const origin of origins) {
    const url = URL.canParse(origin) ? new URL(origin) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== origin || origin.includes("*")) {
      read.faults.push(
        `CHECKOUT_ORIGINS: ${JSON.stringify(origin)} is not an origin such as https://shop.example.com: ` +
          "lower case, without path, slash or default port",
      );
    } else if (!isEncryptedOrLocal(url)) {
      read.faults.push(`CHECKOUT_ORIGINS: ${origin} must use https: unless it is on this machine`);
    }
  }
  return new Set(origins);
}

function isEncryptedOrLocal(url: URL): boolean {
  return url.protocol === "https:" || isLoopbackHostname(url.hostname);
}

// Any printable ASCII is accepted, because the provider may change the format of its keys.
const printable = /^[!-~]+$/;

function readSecretKey(read: Reader): string {
  const key = read.text("STRIPE_SECRET_KEY") ?? "";
  if (/^(pk|whsec)_/.test(key) || (key !== "" && !printable.test(key))) {
    read.faults.push("STRIPE_SECRET_KEY is not a secret key (sk_… or rk_…)");
  }
  return key;
}

function readWebhookSecrets(read: Reader): string[] {
  const text = read.text("STRIPE_WEBHOOK_SECRET");
  if (text === null) return [];
  const secrets = text.split(",").map((secret) => secret.trim()).filter((secret) => secret !== "");
  const isSecret = (secret: string) => printable.test(secret) && !/^(sk|rk|pk)_/.test(secret);
  if (secrets.length === 0 || !secrets.every(isSecret)) {
    read.faults.push(
      "STRIPE_WEBHOOK_SECRET is not a signing secret (whsec_…) or a comma-separated list of them",
    );
  }
  return secrets;
}

function readApiUrl(read: Reader): string {
  const { default: fallback } = variables.STRIPE_API_URL;
  const text = read.baseUrl("STRIPE_API_URL", fallback) ?? fallback;
  // The secret key must not be sent unencrypted.
  if (/^http:/i.test(text) && URL.canParse(text) && !isEncryptedOrLocal(new URL(text))) {
    read.faults.push("STRIPE_API_URL must use https: unless it is on this machine");
  }
  return text;
}

/** Returns the URL verbatim, because the provider replaces `{CHECKOUT_SESSION_ID}` in it. */
function readPage(read: Reader, name: "CHECKOUT_SUCCESS_URL" | "CHECKOUT_CANCEL_URL"): string {
  const text = read.text(name) ?? "";
  if (text === "") return text;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!isPage) read.faults.push(`${name} is not a URL such as https://shop.example.com/thanks`);
  else if (!isEncryptedOrLocal(url)) read.faults.push(`${name} must use https: unless it is on this machine`);
  return text;
}
