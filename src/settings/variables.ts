/** The variables of the service process, with their defaults and their meaning. */

import { limits } from "../contract/limits.ts";
import { connectionsPerAddress } from "../http/node/defences/bounds.ts";

/**
 * Every variable that {@linkcode readConfig} reads; docs/configuration.md and the Deno permissions are generated from it.
 */
export const variables = {
  DATABASE_URL: {
    default: "–",
    meaning:
      "PostgreSQL, `postgres://user:password@host:port/database`, with one server or several (`host:port,host:port`)",
  },
  DATABASE_LISTEN_URL: {
    default: "`DATABASE_URL`",
    meaning: "PostgreSQL address that bypasses the pooler, for notifications of other processes' commits",
  },
  SURFACES: {
    default: "all",
    meaning: "what this process serves: a list of intake, forms, subscription, site, ops and delivery",
  },
  INTAKE_LISTEN: { default: "127.0.0.1:8080", meaning: "address:port of the intake" },
  INTAKE_URL: { default: "the listener's", meaning: "public base address of the intake" },
  FORMS_LISTEN: { default: "127.0.0.1:8081", meaning: "address:port of the tenant forms" },
  FORMS_URL: { default: "the listener's", meaning: "public base address of the forms" },
  FORMS_LINK_SECRET: {
    default: "–",
    meaning:
      "signs the links of digests that release what is held, 32 characters or more; the actions process needs the same",
  },
  SUBSCRIPTION_LISTEN: {
    default: "127.0.0.1:8082",
    meaning: "address:port of the plan feed and the checkout",
  },
  SUBSCRIPTION_URL: { default: "the listener's", meaning: "public base address of the plan feed" },
  SITE_LISTEN: { default: "127.0.0.1:8083", meaning: "address:port of the site" },
  SITE_URL: { default: "the listener's", meaning: "public base address of the site" },
  SITE_DIR: { default: "build/site", meaning: "the folder that the site's listener serves" },
  OPS_LISTEN: {
    default: "127.0.0.1:9090",
    meaning: "address:port of the console and the metrics; loopback or private only",
  },
  OPS_BACKUP_MARKS_DIR: {
    default: "–",
    meaning: "the folder with the time stamps of backups; enables the metrics of their age",
  },
  CONTACT_EMAIL: {
    default: "–",
    meaning: "address for partners' questions about keys, shown in the brief, the playground and the site",
  },
  CONSOLE_TIME_ZONE: {
    default: "UTC",
    meaning: "IANA time zone of the console, such as `Europe/Berlin`",
  },
  TLS_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate chain; turns on HTTPS on the public listeners",
  },
  TLS_KEY_FILE: { default: "–", meaning: "PEM private key of the certificate" },
  TRUSTED_PROXIES: {
    default: "none",
    meaning: "CIDR list of the proxies whose `X-Forwarded-For` is trusted",
  },
  CONNECTIONS_PER_ADDRESS: {
    default: String(connectionsPerAddress),
    meaning: "connections per client address; unless set, trusted proxies and this machine have no limit",
  },
  INTAKE_IP_PER_MINUTE: {
    default: String(limits.ipRate.perMinute),
    meaning: "requests a minute per client address",
  },
  INTAKE_IP_BURST: { default: String(limits.ipRate.burst), meaning: "requests at once per client address" },
  INTAKE_KEY_PER_MINUTE: {
    default: String(limits.keyRate.perMinute),
    meaning: "requests a minute per key",
  },
  INTAKE_KEY_BURST: { default: String(limits.keyRate.burst), meaning: "requests at once per key" },
  FORMS_IP_PER_MINUTE: {
    default: String(limits.formsIpRate.perMinute),
    meaning: "form posts a minute per client address",
  },
  FORMS_IP_BURST: {
    default: String(limits.formsIpRate.burst),
    meaning: "form posts at once per client address",
  },
  FORMS_TENANT_PER_MINUTE: {
    default: String(limits.formsTenantRate.perMinute),
    meaning: "form posts a minute per tenant",
  },
  FORMS_TENANT_BURST: {
    default: String(limits.formsTenantRate.burst),
    meaning: "form posts at once per tenant",
  },
  FORMS_SPAM_LEARN: {
    default: "on",
    meaning: "`off`: the spam score does not learn from what operators release, dismiss and report",
  },
  PUBLIC_IP_PER_MINUTE: {
    default: String(limits.publicRead.perMinute),
    meaning: "public reads a minute per client address",
  },
  PUBLIC_IP_BURST: {
    default: String(limits.publicRead.burst),
    meaning: "public reads at once per client address",
  },
  CHECKOUT_ORIGINS: { default: "none", meaning: "browser origins that may open a checkout, comma-separated" },
  CHECKOUT_SUCCESS_URL: { default: "–", meaning: "page to which the payment provider returns the buyer" },
  CHECKOUT_CANCEL_URL: { default: "–", meaning: "page to which it returns a buyer who cancels" },
  STRIPE_SECRET_KEY: { default: "–", meaning: "the provider's API key; without it, the checkout is off" },
  STRIPE_WEBHOOK_SECRET: { default: "–", meaning: "checks the signature of the provider's events" },
  STRIPE_API_URL: { default: "https://api.stripe.com", meaning: "base address of the provider's API" },
  ACTIONS_URL: { default: "–", meaning: "base address of the actions tier; without it, leads wait" },
  ACTIONS_CA_FILE: { default: "–", meaning: "PEM certificate of the CA that signed the tier's certificate" },
  ACTIONS_CLIENT_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate that the service presents to the tier",
  },
  ACTIONS_CLIENT_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  DELIVERY_SEND_TIMEOUT_MS: {
    default: "25000",
    meaning: "longest wait for a delivery's answer; shorter than the lease",
  },
  DELIVERY_BACKOFF_BASE_MS: {
    default: "5000",
    meaning: "wait after the first failed attempt; triples with each further one",
  },
  DELIVERY_BACKOFF_CAP_MS: { default: "21600000", meaning: "the longest wait between attempts" },
  DELIVERY_ATTEMPTS_MAX: { default: "24", meaning: "number of attempts before an event is dead" },
  DELIVERY_LEASE_MS: { default: "35000", meaning: "how long a process holds a claimed event" },
  DELIVERY_POLL_MS: {
    default: "5000",
    meaning: "interval of the outbox poll, which runs regardless of notifications",
  },
  DELIVERY_CONCURRENCY: { default: "128", meaning: "concurrent deliveries" },
} as const;
