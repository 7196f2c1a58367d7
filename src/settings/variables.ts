/**
 * The variables of the service process, with their defaults and their meaning.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import { connectionsPerAddress } from "../http/node/defences/bounds.ts";

/**
 * Every variable that {@linkcode readConfig} reads, with its default and its meaning: the tables of
 * docs/configuration.md and the Deno permission list are made from it.
 */
export const variables = {
  DATABASE_URL: {
    default: "–",
    meaning:
      "PostgreSQL, `postgres://user:password@host:port/database`, with one server or several (`host:port,host:port`)",
  },
  DATABASE_LISTEN_URL: {
    default: "`DATABASE_URL`",
    meaning: "PostgreSQL past the pooler, to hear at once of what other processes commit",
  },
  SURFACES: {
    default: "all",
    meaning: "what this process serves, of intake, forms, subscription, site, ops and delivery",
  },
  INTAKE_LISTEN: { default: "127.0.0.1:8080", meaning: "address:port of the intake" },
  INTAKE_URL: { default: "the listener's", meaning: "public base address of the intake" },
  FORMS_LISTEN: { default: "127.0.0.1:8081", meaning: "address:port of the tenant forms" },
  FORMS_URL: { default: "the listener's", meaning: "public base address of the forms" },
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
    meaning: "address:port of the operator's pages and figures; loopback or private only",
  },
  OPS_BACKUP_MARKS_DIR: {
    default: "–",
    meaning: "the folder in which backups leave their marks; with it the figures say how old they are",
  },
  CONTACT_EMAIL: {
    default: "–",
    meaning: "whom partners write to about a key; the brief, the playground and the site name it",
  },
  CONSOLE_TIME_ZONE: {
    default: "UTC",
    meaning: "in which the console shows and reads times, by its IANA name, such as `Europe/Berlin`",
  },
  TLS_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate chain; with it the public listeners speak HTTPS",
  },
  TLS_KEY_FILE: { default: "–", meaning: "PEM private key of the certificate" },
  TRUSTED_PROXIES: {
    default: "none",
    meaning: "CIDR list of the proxies whose `X-Forwarded-For` is believed",
  },
  CONNECTIONS_PER_ADDRESS: {
    default: String(connectionsPerAddress),
    meaning:
      "connections per client address; trusted proxies and this machine have no limit unless it is set",
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
    meaning: "`off`: the spam score ignores what operators have released, dismissed and reported",
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
  CHECKOUT_SUCCESS_URL: { default: "–", meaning: "where the payment provider sends the buyer afterwards" },
  CHECKOUT_CANCEL_URL: { default: "–", meaning: "where it sends a buyer who gives up" },
  STRIPE_SECRET_KEY: { default: "–", meaning: "the provider's API key; without it there is no checkout" },
  STRIPE_WEBHOOK_SECRET: { default: "–", meaning: "checks the signature of the provider's events" },
  STRIPE_API_URL: { default: "https://api.stripe.com", meaning: "base address of the provider's API" },
  ACTIONS_URL: { default: "–", meaning: "base address of the actions tier; without it leads wait" },
  ACTIONS_CA_FILE: { default: "–", meaning: "PEM certificate of the CA that signed the tier's certificate" },
  ACTIONS_CLIENT_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate by which the tier recognizes the service",
  },
  ACTIONS_CLIENT_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  DELIVERY_SEND_TIMEOUT_MS: {
    default: "25000",
    meaning: "how long a delivery waits for its answer; shorter than the lease",
  },
  DELIVERY_BACKOFF_BASE_MS: {
    default: "5000",
    meaning: "wait after the first failed attempt; each further one waits three times as long",
  },
  DELIVERY_BACKOFF_CAP_MS: { default: "21600000", meaning: "the longest wait between attempts" },
  DELIVERY_ATTEMPTS_MAX: { default: "24", meaning: "attempts after which an event is dead" },
  DELIVERY_LEASE_MS: { default: "35000", meaning: "how long a claimed event stays with its process" },
  DELIVERY_POLL_MS: {
    default: "5000",
    meaning: "how often the outbox is looked through, whether something was announced or not",
  },
  DELIVERY_CONCURRENCY: { default: "128", meaning: "deliveries at once" },
} as const;
