/**
 * The settings of the actions process. All faults are reported together, and no value that may be a
 * secret is repeated in a message.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { ConfigError, type ListenAddress } from "../config.ts";
import { type Networks, parseNetworks } from "../http/client.ts";
import { mailAddress, type MailConfig } from "./email.ts";
import type { ServerFiles } from "./server_files.ts";

/** The settings of the actions process. */
export interface ActionsConfig {
  readonly listen: ListenAddress;
  readonly databaseUrl: string;
  readonly files: ServerFiles;
  /** The name that a client's certificate must have, or `null` when the CA alone decides. */
  readonly clientName: string | null;
  /** Networks in which CRM addresses may lie although they are not public. */
  readonly allowedNetworks: Networks;
  /** One effect, from its first look-up to its answer. */
  readonly effectTimeoutMs: number;
  /** `null`: there is no way to send mail, and email effects fail. */
  readonly mail: MailConfig | null;
}

/** Every variable that {@linkcode readActionsConfig} reads, with its default and its meaning. */
export const actionsVariables = {
  ACTIONS_LISTEN: { default: "127.0.0.1:9443", meaning: "address:port of the actions process" },
  ACTIONS_DATABASE_URL: {
    default: "–",
    meaning: "PostgreSQL, as a role of its own that is a member of `lead_actions`",
  },
  ACTIONS_SERVER_CERT_FILE: { default: "–", meaning: "PEM certificate chain of the actions process" },
  ACTIONS_SERVER_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  ACTIONS_CLIENT_CA_FILE: { default: "–", meaning: "PEM certificates of the CA that signs its clients'" },
  ACTIONS_CLIENT_NAME: {
    default: "any",
    meaning: "name that the client's certificate must have (common name, DNS or URI)",
  },
  ACTIONS_ALLOWED_NETWORKS: {
    default: "none",
    meaning: "CIDR list of networks that are not public and may be called all the same",
  },
  ACTIONS_EFFECT_TIMEOUT_MS: {
    default: "10000",
    meaning: "bound of one CRM call or one mail; two of them within DELIVERY_SEND_TIMEOUT_MS",
  },
  SMTP_URL: { default: "–", meaning: "mail server, `smtp://user:password@host:port` or `smtps://…`" },
  MAIL_FROM: { default: "–", meaning: "sender of the mails, `leads@example.com` or `Leads <…>`" },
} as const;

type Environment = Readonly<Record<string, string | undefined>>;
type Name = keyof typeof actionsVariables;

// The lease of an effect ends some time after this bound; a repeat after a crash waits for it.
const effectTimeoutMsMax = 120_000;

/** Reads the settings. Throws {@linkcode ConfigError} with every fault at once. */
export function readActionsConfig(environment: Environment): ActionsConfig {
  const faults: string[] = [];
  const read = new Reader(environment, faults);
  const config: ActionsConfig = {
    listen: read.listen(),
    databaseUrl: read.databaseUrl(),
    files: read.files(),
    clientName: read.get("ACTIONS_CLIENT_NAME"),
    allowedNetworks: read.allowedNetworks(),
    effectTimeoutMs: read.effectTimeoutMs(),
    mail: read.mail(),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads single variables and collects their faults. An empty variable counts as unset. */
class Reader {
  readonly #environment: Environment;
  readonly #faults: string[];

  constructor(environment: Environment, faults: string[]) {
    this.#environment = environment;
    this.#faults = faults;
  }

  get(name: Name): string | null {
    const value = this.#environment[name]?.trim();
    return value === undefined || value === "" ? null : value;
  }

  listen(): ListenAddress {
    const fallback = actionsVariables.ACTIONS_LISTEN.default;
    const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(this.get("ACTIONS_LISTEN") ?? fallback);
    const host = match?.[1] ?? match?.[2] ?? "";
    const port = Number(match?.[3]);
    if (match === null || (isIP(host) === 0 && host !== "localhost") || port > 65_535) {
      this.#faults.push(`ACTIONS_LISTEN is not address:port, such as ${fallback} or [::1]:9443`);
    }
    return { host, port };
  }

  databaseUrl(): string {
    const value = this.get("ACTIONS_DATABASE_URL");
    if (value === null) {
      this.#faults.push("ACTIONS_DATABASE_URL is not set; it names the PostgreSQL database");
    } else if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
      this.#faults.push("ACTIONS_DATABASE_URL is not a postgres:// address");
    }
    return value ?? "";
  }

  files(): ServerFiles {
    const names = ["ACTIONS_SERVER_CERT_FILE", "ACTIONS_SERVER_KEY_FILE", "ACTIONS_CLIENT_CA_FILE"] as const;
    const [certFile, keyFile, caFile] = names.map((name) => this.get(name) ?? "") as [string, string, string];
    const [cert, key, ca] = names.map((name) => this.#content(name)) as [string, string, string];
    const certificate = this.#parsed("ACTIONS_SERVER_CERT_FILE", cert, (pem) => new X509Certificate(pem));
    const privateKey = this.#parsed("ACTIONS_SERVER_KEY_FILE", key, (pem) => createPrivateKey(pem));
    this.#parsed("ACTIONS_CLIENT_CA_FILE", ca, (pem) => new X509Certificate(pem));
    if (certificate !== null && privateKey !== null && !certificate.checkPrivateKey(privateKey)) {
      this.#faults.push("ACTIONS_SERVER_CERT_FILE and ACTIONS_SERVER_KEY_FILE do not belong together");
    }
    return { certFile, keyFile, caFile };
  }

  #content(name: Name): string {
    const file = this.get(name);
    if (file === null) {
      this.#faults.push(`${name} is not set; without certificates nobody could be told from anybody`);
      return "";
    }
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      this.#faults.push(`${name} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
      return "";
    }
  }

  #parsed<T>(name: Name, pem: string, parse: (pem: string) => T): T | null {
    // What could not be read has been reported.
    if (pem === "") return null;
    try {
      return parse(pem);
    } catch {
      this.#faults.push(`${name} does not hold what it should, in PEM`);
      return null;
    }
  }

  allowedNetworks(): Networks {
    try {
      return parseNetworks(this.get("ACTIONS_ALLOWED_NETWORKS") ?? "");
    } catch {
      this.#faults.push("ACTIONS_ALLOWED_NETWORKS is not a list of networks such as 10.0.0.0/8, ::1/128");
      return parseNetworks("");
    }
  }

  effectTimeoutMs(): number {
    const value = this.get("ACTIONS_EFFECT_TIMEOUT_MS") ?? actionsVariables.ACTIONS_EFFECT_TIMEOUT_MS.default;
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1 || number > effectTimeoutMsMax) {
      this.#faults.push(`ACTIONS_EFFECT_TIMEOUT_MS is not a whole number from 1 to ${effectTimeoutMsMax}`);
    }
    return number;
  }

  mail(): MailConfig | null {
    const url = this.get("SMTP_URL");
    const from = this.get("MAIL_FROM");
    if (url === null && from === null) return null;
    if (url === null || from === null) {
      const missing = url === null ? "SMTP_URL" : "MAIL_FROM";
      this.#faults.push(`${missing} is not set; the mail server and the sender go together`);
      return null;
    }
    const server = parseSmtpUrl(url);
    if (server === null) {
      this.#faults.push("SMTP_URL is not an address such as smtp://user:password@mail.example.com:587");
    }
    const sender = parseSender(from);
    if (sender === null) {
      this.#faults.push("MAIL_FROM is not a sender such as leads@example.com or Leads <leads@example.com>");
    }
    return server === null || sender === null ? null : { ...server, from: sender };
  }
}

function parseSmtpUrl(text: string): Omit<MailConfig, "from"> | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return null;
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") return null;
  const isSecure = url.protocol === "smtps:";
  try {
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (isSecure ? 465 : 587) : Number(url.port),
      isSecure,
      login: url.username === ""
        ? null
        : { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
    };
  } catch {
    // A % that is no escape.
    return null;
  }
}

function parseSender(text: string): MailConfig["from"] | null {
  const match = /^(?:"?([^"<>\p{Cc}]*?)"?\s*<([^<>]*)>|([^<>]*))$/u.exec(text);
  const address = match?.[2] ?? match?.[3] ?? "";
  if (!mailAddress.test(address)) return null;
  return { name: match?.[1] ?? "", address };
}
