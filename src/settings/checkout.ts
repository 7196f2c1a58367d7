/** The checkout's settings, which are never printed. */

import { isLoopbackHostname } from "../http/addresses.ts";
import type { SettingsReader } from "./reader.ts";
import { variables } from "./variables.ts";

/** Allowed origins and the payment provider. */
export interface CheckoutConfig {
  /** The allowed browser origins. */
  readonly origins: ReadonlySet<string>;
  /** `null`: the origins get a 503. */
  readonly provider: ProviderConfig | null;
}

/** The payment provider's settings. */
export interface ProviderConfig {
  readonly secretKey: string;
  /** Several during rotation. */
  readonly webhookSecrets: readonly string[];
  readonly apiUrl: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
}

type Reader = SettingsReader<keyof typeof variables>;

/** The provider's settings: all or none. */
const together = [
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "CHECKOUT_SUCCESS_URL",
  "CHECKOUT_CANCEL_URL",
] as const;

/**
 * Reads the settings; `null` without any. Chosen: origins alone are allowed, so that a storefront can be built first.
 */
export function readCheckoutConfig(read: Reader): CheckoutConfig | null {
  const origins = readOrigins(read);
  const isSet = (name: (typeof together)[number]) => read.text(name) !== null;
  if (!together.some(isSet)) {
    if (read.text("STRIPE_API_URL") !== null) {
      read.faults.push("STRIPE_API_URL is set without STRIPE_SECRET_KEY");
    }
    return origins === null ? null : { origins, provider: null };
  }
  for (const name of together) {
    if (!isSet(name)) read.faults.push(`${name} is not set; the checkout needs it`);
  }
  if (origins === null) {
    read.faults.push("CHECKOUT_ORIGINS is not set; the checkout needs it");
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
    // No wildcards: no browser's origin contains a star.
    if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== origin || origin.includes("*")) {
      read.faults.push(
        `CHECKOUT_ORIGINS: ${JSON.stringify(origin)} is not an origin such as https://shop.example.com: ` +
          "lower case, without path, slash or default port",
      );
    } else if (!isEncryptedOrLocal(url)) {
      read.faults.push(`CHECKOUT_ORIGINS: ${origin} is http: on another machine`);
    }
  }
  return new Set(origins);
}

function isEncryptedOrLocal(url: URL): boolean {
  return url.protocol === "https:" || isLoopbackHostname(url.hostname);
}

// Any printable text, because the provider may change its key formats.
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
  const isOne = (secret: string) => printable.test(secret) && !/^(sk|rk|pk)_/.test(secret);
  if (secrets.length === 0 || !secrets.every(isOne)) {
    read.faults.push(
      "STRIPE_WEBHOOK_SECRET is not a signing secret (whsec_…) or a comma-separated list of them",
    );
  }
  return secrets;
}

function readApiUrl(read: Reader): string {
  const { default: fallback } = variables.STRIPE_API_URL;
  const text = read.baseUrl("STRIPE_API_URL", fallback) ?? fallback;
  // The secret key never crosses a network unencrypted.
  if (/^http:/i.test(text) && URL.canParse(text) && !isEncryptedOrLocal(new URL(text))) {
    read.faults.push("STRIPE_API_URL is http: on another machine");
  }
  return text;
}

/** Kept as text: the provider replaces `{CHECKOUT_SESSION_ID}`. */
function readPage(read: Reader, name: "CHECKOUT_SUCCESS_URL" | "CHECKOUT_CANCEL_URL"): string {
  const text = read.text(name) ?? "";
  if (text === "") return text;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!isPage) read.faults.push(`${name} is not an address such as https://shop.example.com/thanks`);
  else if (!isEncryptedOrLocal(url)) read.faults.push(`${name} is http: on another machine`);
  return text;
}
