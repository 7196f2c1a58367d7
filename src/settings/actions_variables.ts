/** Declares the variables of the actions process, with their defaults and meanings. */

/**
 * Every variable that `readActionsConfig` reads. Both processes may share a settings file, so each must know the other's
 * names.
 */
export const actionsVariables = {
  ACTIONS_LISTEN: { default: "127.0.0.1:9443", meaning: "address:port of the actions process" },
  ACTIONS_OPS_LISTEN: {
    default: "none",
    meaning: "address:port of the process's `/metrics`, such as 127.0.0.1:9092; loopback or private only",
  },
  ACTIONS_DATABASE_URL: {
    default: "–",
    meaning: "PostgreSQL URL with a separate role, which must be a member of `lead_actions`",
  },
  ACTIONS_SERVER_CERT_FILE: { default: "–", meaning: "PEM certificate chain of the actions process" },
  ACTIONS_SERVER_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  ACTIONS_CLIENT_CA_FILE: {
    default: "–",
    meaning: "PEM certificates of the CA that signs the clients' certificates",
  },
  ACTIONS_CLIENT_NAME: {
    default: "any",
    meaning: "name that the client's certificate must have (common name, DNS or URI)",
  },
  ACTIONS_ALLOWED_NETWORKS: {
    default: "none",
    meaning: "CIDR list of private networks that webhooks may call",
  },
  ACTIONS_EFFECT_TIMEOUT_MS: {
    default: "10000",
    meaning: "timeout for one call or email; at most half of `DELIVERY_SEND_TIMEOUT_MS`",
  },
  SMTP_URL: { default: "–", meaning: "mail server, `smtp://user:password@host:port` or `smtps://…`" },
  FORMS_LINK_SECRET: {
    default: "–",
    meaning: "secret that signs the release links in digests of held submissions; must equal the service's",
  },
  FORMS_URL: { default: "–", meaning: "public base URL of the forms, for these links" },
  MAIL_FROM: { default: "–", meaning: "sender of the emails, `leads@example.com` or `Leads <…>`" },
} as const;
