/** Declares the variables of the service process, with their defaults and meanings. */

import { limits } from "../contract/limits.ts";
import { connectionsPerAddress } from "../http/node/defenses/bounds.ts";

/**
 * Every variable that {@linkcode readConfig} reads; docs/configuration.md and the Deno permissions are generated from it.
 */
export const variables = {
  DATABASE_URL: {
    default: "–",
    meaning:
      "PostgreSQL URL, `postgres://user:password@host:port/database`, with one or more servers (`host:port,host:port`)",
  },
  DATABASE_LISTEN_URL: {
    default: "`DATABASE_URL`",
    meaning: "PostgreSQL URL that bypasses the pooler, for notifications about other processes' commits",
  },
  SURFACES: {
    default: "all",
    meaning: "what this process serves: a list of intake, forms, subscription, site, ops and delivery",
  },
  INTAKE_LISTEN: { default: "127.0.0.1:8080", meaning: "address:port of the intake" },
  INTAKE_URL: { default: "the listener's", meaning: "public base URL of the intake" },
  FORMS_LISTEN: { default: "127.0.0.1:8081", meaning: "address:port of the tenant forms" },
  FORMS_URL: { default: "the listener's", meaning: "public base URL of the forms" },
  FORMS_LINK_SECRET: {
    default: "–",
    meaning:
      "secret of 32 characters or more that signs the release links in digests of held submissions; must equal the actions process's",
  },
  SUBSCRIPTION_LISTEN: {
    default: "127.0.0.1:8082",
    meaning: "address:port of the plan feed and the checkout",
  },
  SUBSCRIPTION_URL: { default: "the listener's", meaning: "public base URL of the plan feed" },
  SITE_LISTEN: { default: "127.0.0.1:8083", meaning: "address:port of the site" },
  SITE_URL: { default: "the listener's", meaning: "public base URL of the site" },
  SITE_DIR: { default: "build/site", meaning: "folder that the site's listener serves" },
  OPS_LISTEN: {
    default: "127.0.0.1:9090",
    meaning: "address:port of the console and the metrics; loopback or private only",
  },
  OPS_URL: {
    default: "the listener's",
    meaning: "base URL of the console behind a reverse proxy, which passes this host in `Host`",
  },
  OPS_TRUSTED_PROXIES: {
    default: "none",
    meaning: "CIDR list of the proxies whose `X-Forwarded-User` names the console's operator",
  },
  OPS_BACKUP_MARKS_DIR: {
    default: "–",
    meaning: "folder with the timestamp files of backups; enables the metrics for their age",
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
    meaning:
      "maximum number of connections from one client address; unless set, trusted proxies and this machine have no limit",
  },
  INTAKE_IP_PER_MINUTE: {
    default: String(limits.ipRate.perMinute),
    meaning: "requests per minute from one client address",
  },
  INTAKE_IP_BURST: {
    default: String(limits.ipRate.burst),
    meaning: "requests at once from one client address",
  },
  INTAKE_KEY_PER_MINUTE: {
    default: String(limits.keyRate.perMinute),
    meaning: "requests per minute with one key",
  },
  INTAKE_KEY_BURST: { default: String(limits.keyRate.burst), meaning: "requests at once with one key" },
  FORMS_IP_PER_MINUTE: {
    default: String(limits.formsIpRate.perMinute),
    meaning: "form posts per minute from one client address",
  },
  FORMS_IP_BURST: {
    default: String(limits.formsIpRate.burst),
    meaning: "form posts at once from one client address",
  },
  FORMS_TENANT_PER_MINUTE: {
    default: String(limits.formsTenantRate.perMinute),
    meaning: "form posts per minute for one tenant",
  },
  FORMS_TENANT_BURST: {
    default: String(limits.formsTenantRate.burst),
    meaning: "form posts at once for one tenant",
  },
  FORMS_SPAM_LEARN: {
    default: "on",
    meaning:
      "`off`: decisions (release, dismiss, report) do not train the spam filter, and what they taught it is deleted",
  },
  PUBLIC_IP_PER_MINUTE: {
    default: String(limits.publicRead.perMinute),
    meaning: "public reads per minute from one client address",
  },
  PUBLIC_IP_BURST: {
    default: String(limits.publicRead.burst),
    meaning: "public reads at once from one client address",
  },
  CHECKOUT_ORIGINS: { default: "none", meaning: "browser origins that may open a checkout, comma-separated" },
  CHECKOUT_SUCCESS_URL: { default: "–", meaning: "page to which the payment provider returns the buyer" },
  CHECKOUT_CANCEL_URL: {
    default: "–",
    meaning: "page to which the payment provider returns a buyer who cancels",
  },
  STRIPE_SECRET_KEY: { default: "–", meaning: "the provider's API key; without it, the checkout is off" },
  STRIPE_WEBHOOK_SECRET: {
    default: "–",
    meaning: "secret that verifies the signature of the provider's events",
  },
  STRIPE_API_URL: { default: "https://api.stripe.com", meaning: "base URL of the provider's API" },
  ACTIONS_URL: { default: "–", meaning: "base URL of the actions process; without it, events stay pending" },
  ACTIONS_CA_FILE: {
    default: "–",
    meaning: "PEM certificate of the CA that signed the actions process's certificate",
  },
  ACTIONS_CLIENT_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate that the service presents to the actions process",
  },
  ACTIONS_CLIENT_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  DELIVERY_SEND_TIMEOUT_MS: {
    default: "25000",
    meaning: "maximum wait for the response to a delivery; must be shorter than the lease",
  },
  DELIVERY_BACKOFF_BASE_MS: {
    default: "5000",
    meaning: "delay after the first failed attempt; triples with each further attempt",
  },
  DELIVERY_BACKOFF_CAP_MS: { default: "21600000", meaning: "maximum delay between attempts" },
  DELIVERY_ATTEMPTS_MAX: { default: "24", meaning: "number of attempts before an event is dead" },
  DELIVERY_LEASE_MS: {
    default: "35000",
    meaning: "duration of a claim, after which the event can be claimed again",
  },
  DELIVERY_POLL_MS: {
    default: "5000",
    meaning: "interval of the outbox poll, which runs regardless of notifications",
  },
  DELIVERY_CONCURRENCY: { default: "128", meaning: "concurrent deliveries" },
} as const;
