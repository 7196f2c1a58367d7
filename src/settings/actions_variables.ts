/** The variables of the actions process, with their defaults and their meaning. */

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
    meaning: "PostgreSQL, with a separate role that is a member of `lead_actions`",
  },
  ACTIONS_SERVER_CERT_FILE: { default: "–", meaning: "PEM certificate chain of the actions process" },
  ACTIONS_SERVER_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  ACTIONS_CLIENT_CA_FILE: {
    default: "–",
    meaning: "PEM certificates of the CA that signs its clients' certificates",
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
    meaning: "time limit of one call or mail; at most half of `DELIVERY_SEND_TIMEOUT_MS`",
  },
  SMTP_URL: { default: "–", meaning: "mail server, `smtp://user:password@host:port` or `smtps://…`" },
  FORMS_LINK_SECRET: {
    default: "–",
    meaning: "signs the links of digests that release what is held; the service has the same",
  },
  FORMS_URL: { default: "–", meaning: "public base address of the forms, to which these links lead" },
  MAIL_FROM: { default: "–", meaning: "sender of the mails, `leads@example.com` or `Leads <…>`" },
} as const;
