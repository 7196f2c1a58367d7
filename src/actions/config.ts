/** Reads the settings of the actions process. */

import type { Networks } from "../http/addresses.ts";
import type { TlsPaths } from "../http/tls_files.ts";
import { actionsVariables } from "../settings/actions_variables.ts";
import { type InheritedSockets, socketFaults } from "../settings/inherited.ts";
import { readLinkSecrets } from "../settings/link_secrets.ts";
import { listenAddressFault, namedSockets } from "../settings/listen_targets.ts";
import { ConfigError, type Environment, type ListenTarget, SettingsReader } from "../settings/reader.ts";
import { readLastFailure } from "../settings/supervisor.ts";
import { unknownSettings } from "../settings/unknown.ts";
import { mailAddress, type MailConfig } from "./smtp.ts";

export interface ActionsConfig {
  readonly listen: ListenTarget;
  /** The address of the listener for `/metrics`; `null` for none. */
  readonly opsListen: ListenTarget | null;
  /** The inherited sockets by name. */
  readonly sockets: InheritedSockets;
  readonly databaseUrl: string;
  readonly files: TlsPaths;
  /** The name required in a client's certificate; `null` if the CA suffices. */
  readonly clientName: string | null;
  /** The non-public networks that webhooks may call. */
  readonly allowedNetworks: Networks;
  /** The time limit for each effect. */
  readonly effectTimeoutMs: number;
  /** The mail settings; if `null`, email effects fail. */
  readonly mail: MailConfig | null;
  /** The settings for digest links that release held submissions; `null` for no links. */
  readonly heldLinks: { readonly formsUrl: string; readonly secret: string } | null;
  /** The reason why the previous process failed; `null` if it did not or the reason is unknown. */
  readonly lastFailure: string | null;
}

type Name = keyof typeof actionsVariables;
type Reader = SettingsReader<Name>;

// Limited, because after a crash a retry waits until the effect's lease expires, which is 10 s longer.
const effectTimeoutMsMax = 120_000;

/** @throws {ConfigError} with all faults */
export function readActionsConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): ActionsConfig {
  const { config, faults } = examineActionsConfig(environment, sockets);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads the settings without throwing; if there are faults, `config` may contain empty or invalid values. */
export function examineActionsConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): { readonly config: ActionsConfig; readonly faults: readonly string[] } {
  const read = new SettingsReader(actionsVariables, environment);
  const config: ActionsConfig = {
    listen: read.listenTarget("ACTIONS_LISTEN"),
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
  const listenSettings = [["ACTIONS_LISTEN", config.listen], [
    "ACTIONS_OPS_LISTEN",
    config.opsListen,
  ]] as const;
  if (sockets !== null) read.faults.push(...socketFaults(namedSockets(listenSettings), sockets));
  read.faults.push(...unknownSettings(environment));
  return { config, faults: read.faults };
}

function readOpsListen(read: Reader): ListenTarget | null {
  if (read.text("ACTIONS_OPS_LISTEN") === null) return null;
  const listen = read.listenTarget("ACTIONS_OPS_LISTEN", "127.0.0.1:9092");
  const fault = "socket" in listen || listen.host === ""
    ? null
    : listenAddressFault("ACTIONS_OPS_LISTEN", listen, { isOperators: true });
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
    read.faults.push("FORMS_URL is not set; the links that FORMS_LINK_SECRET signs need it");
  }
  return formsUrl === null ? null : { formsUrl, secret };
}

function readMail(read: Reader): MailConfig | null {
  const url = read.text("SMTP_URL");
  const from = read.text("MAIL_FROM");
  if (url === null && from === null) return null;
  if (url === null || from === null) {
    const missing = url === null ? "SMTP_URL" : "MAIL_FROM";
    read.faults.push(`${missing} is not set; set both SMTP_URL and MAIL_FROM`);
    return null;
  }
  const server = parseSmtpUrl(url);
  if (server === null) {
    read.faults.push("SMTP_URL is not a URL such as smtp://user:password@mail.example.com:587");
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
    // The user name or password contains an invalid percent escape.
    return null;
  }
}

function parseSender(text: string): MailConfig["from"] | null {
  const match = /^(?:"?([^"<>\p{Cc}]*?)"?\s*<([^<>]*)>|([^<>]*))$/u.exec(text);
  const address = match?.[2] ?? match?.[3] ?? "";
  if (!mailAddress.test(address)) return null;
  return { name: match?.[1] ?? "", address };
}
