/** The settings of the actions process. */

import type { Networks } from "../http/addresses.ts";
import type { TlsPaths } from "../http/tls_files.ts";
import { actionsVariables } from "../settings/actions_variables.ts";
import { type InheritedSockets, socketFaults } from "../settings/inherited.ts";
import { readLinkSecrets } from "../settings/link_secrets.ts";
import { addressFault, socketsOf } from "../settings/places.ts";
import { ConfigError, type Environment, type ListenPlace, SettingsReader } from "../settings/reader.ts";
import { readLastFailure } from "../settings/supervisor.ts";
import { unknownSettings } from "../settings/unknown.ts";
import { mailAddress, type MailConfig } from "./smtp.ts";

/** The settings of the actions process. */
export interface ActionsConfig {
  readonly listen: ListenPlace;
  /** The address of `/metrics`, or `null`. */
  readonly opsListen: ListenPlace | null;
  /** Inherited sockets that the settings name. */
  readonly sockets: InheritedSockets;
  readonly databaseUrl: string;
  readonly files: TlsPaths;
  /** The required name of a client's certificate, or `null` if the CA suffices. */
  readonly clientName: string | null;
  /** Permitted networks that are not public. */
  readonly allowedNetworks: Networks;
  /** Time limit of one effect. */
  readonly effectTimeoutMs: number;
  /** `null`: no mail server, so email effects fail. */
  readonly mail: MailConfig | null;
  /** For links in digests that release held submissions; `null`: no links. */
  readonly heldLinks: { readonly formsUrl: string; readonly secret: string } | null;
  /** How the previous process failed, if it did. */
  readonly lastFailure: string | null;
}

type Name = keyof typeof actionsVariables;
type Reader = SettingsReader<Name>;

// An effect's lease ends some time after this; a repeat after a crash waits for it.
const effectTimeoutMsMax = 120_000;

/**
 * Reads the settings; `sockets` are the inherited ones.
 *
 * @throws {ConfigError} with all faults
 */
export function readActionsConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): ActionsConfig {
  const { config, faults } = examineActionsConfig(environment, sockets);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads the settings without throwing; faulty ones are empty. */
export function examineActionsConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): { readonly config: ActionsConfig; readonly faults: readonly string[] } {
  const read = new SettingsReader(actionsVariables, environment);
  const config: ActionsConfig = {
    listen: read.listenPlace("ACTIONS_LISTEN"),
    opsListen: readOpsListen(read),
    sockets: sockets ?? new Map(),
    databaseUrl: read.databaseUrl("ACTIONS_DATABASE_URL"),
    files: readFiles(read),
    clientName: read.text("ACTIONS_CLIENT_NAME"),
    allowedNetworks: read.networks("ACTIONS_ALLOWED_NETWORKS"),
    effectTimeoutMs: read.positiveInteger("ACTIONS_EFFECT_TIMEOUT_MS", effectTimeoutMsMax),
    mail: readMail(read),
    heldLinks: readHeldLinks(read),
    lastFailure: readLastFailure(environment),
  };
  const named = [["ACTIONS_LISTEN", config.listen], ["ACTIONS_OPS_LISTEN", config.opsListen]] as const;
  if (sockets !== null) read.faults.push(...socketFaults(socketsOf(named), sockets));
  read.faults.push(...unknownSettings(environment));
  return { config, faults: read.faults };
}

function readOpsListen(read: Reader): ListenPlace | null {
  if (read.text("ACTIONS_OPS_LISTEN") === null) return null;
  const listen = read.listenPlace("ACTIONS_OPS_LISTEN", "127.0.0.1:9092");
  const fault = "socket" in listen || listen.host === ""
    ? null
    : addressFault("ACTIONS_OPS_LISTEN", listen, { isOperators: true });
  if (fault !== null) read.faults.push(fault);
  return listen;
}

function readFiles(read: Reader): TlsPaths {
  const names = {
    cert: "ACTIONS_SERVER_CERT_FILE",
    key: "ACTIONS_SERVER_KEY_FILE",
    ca: "ACTIONS_CLIENT_CA_FILE",
  } as const;
  read.checkTlsFiles(names, "without certificates the two processes cannot authenticate each other");
  const file = (name: Name) => read.text(name) ?? "";
  return { certFile: file(names.cert), keyFile: file(names.key), caFile: file(names.ca) };
}

function readHeldLinks(read: Reader): ActionsConfig["heldLinks"] {
  const [secret] = readLinkSecrets(read);
  const formsUrl = read.baseUrl("FORMS_URL", "https://forms.example.com");
  if (secret === undefined) return null;
  if (formsUrl === null) {
    read.faults.push("FORMS_URL is not set; the links that FORMS_LINK_SECRET signs lead there");
  }
  return formsUrl === null ? null : { formsUrl, secret };
}

function readMail(read: Reader): MailConfig | null {
  const url = read.text("SMTP_URL");
  const from = read.text("MAIL_FROM");
  if (url === null && from === null) return null;
  if (url === null || from === null) {
    const missing = url === null ? "SMTP_URL" : "MAIL_FROM";
    read.faults.push(`${missing} is not set; the mail server and the sender go together`);
    return null;
  }
  const server = parseSmtpUrl(url);
  if (server === null) {
    read.faults.push("SMTP_URL is not an address such as smtp://user:password@mail.example.com:587");
  }
  const sender = parseSender(from);
  if (sender === null) {
    read.faults.push("MAIL_FROM is not a sender such as leads@example.com or Leads <leads@example.com>");
  }
  return server === null || sender === null ? null : { ...server, from: sender };
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
    // An invalid escape.
    return null;
  }
}

function parseSender(text: string): MailConfig["from"] | null {
  const match = /^(?:"?([^"<>\p{Cc}]*?)"?\s*<([^<>]*)>|([^<>]*))$/u.exec(text);
  const address = match?.[2] ?? match?.[3] ?? "";
  if (!mailAddress.test(address)) return null;
  return { name: match?.[1] ?? "", address };
}
