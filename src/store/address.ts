/** Parses `DATABASE_URL`, a `postgres://` URL in libpq's syntax with one or more servers. */

export interface ServerEndpoint {
  /** A host name, an IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

export interface DatabaseAddress {
  /** The servers, of which `primary.ts` finds the one that accepts writes. */
  readonly servers: readonly [ServerEndpoint, ...ServerEndpoint[]];
  readonly user: string | null;
  readonly database: string | null;
  /** Whether the URL has `?pooler=transaction`, with which session settings and prepared statements cannot be used. */
  readonly isPooled: boolean;
  /** The path of a PEM file with trusted CA certificates, or `system`; `null` without `?sslrootcert=`. */
  readonly caFile: string | null;
  readonly tlsMode: TlsMode;
  /** The URL for the driver: its host is `localhost`, and the options parsed here are removed. Contains the password. */
  readonly driverUrl: string;
}

const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export type TlsMode = typeof tlsModes[number];

/** An invalid URL. The message continues a sentence that starts with the variable's name, and quotes no part of the URL. */
export class DatabaseUrlError extends Error {
  override readonly name = "DatabaseUrlError";
}

const urlPattern =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const portDefault = 5432;

/** Parses a database URL, whose `target_session_attrs` may only request the primary. Throws {@linkcode DatabaseUrlError}. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const groups = urlPattern.exec(text)?.groups;
  if (groups === undefined) {
    throw new DatabaseUrlError("is not a URL such as postgres://user:password@host:5432/database");
  }
  const { login = "", hosts = "", database = "", query = "" } = groups;
  const parameters = new URLSearchParams(query);
  const take = (name: string): string | null => {
    const value = parameters.get(name);
    parameters.delete(name);
    return value === "" ? null : value;
  };
  const servers = parseServers(take("host") ?? percentDecode(hosts), take("port"));
  const sessionAttributes = take("target_session_attrs");
  // The service cannot run on a standby.
  if (sessionAttributes !== null && sessionAttributes !== "read-write" && sessionAttributes !== "primary") {
    throw new DatabaseUrlError(
      "has an unsupported target_session_attrs; the only valid values are read-write and primary",
    );
  }
  const pooler = take("pooler");
  if (pooler !== null && pooler !== "transaction") {
    throw new DatabaseUrlError("has an unsupported pooler; the only valid value is transaction");
  }
  const tlsMode = take("sslmode") ?? "disable";
  if (!isTlsMode(tlsMode)) {
    throw new DatabaseUrlError(`has an invalid sslmode; the valid values are ${tlsModes.join(", ")}`);
  }
  const caFile = take("sslrootcert");
  if (caFile !== null && !verifiesCertificate(tlsMode)) {
    throw new DatabaseUrlError(
      "has an sslrootcert that has no effect without sslmode=verify-full, verify-ca or require",
    );
  }
  // The service sets these two options itself.
  take("application_name");
  take("connect_timeout");
  const [user = ""] = login.split(":", 1);
  for (const part of login.split(":")) percentDecode(part);
  return {
    servers,
    user: percentDecode(user) || null,
    database: percentDecode(database) || percentDecode(user) || null,
    isPooled: pooler !== null,
    caFile,
    tlsMode,
    // The driver cannot parse a URL without a host.
    driverUrl: `postgres://${login === "" ? "" : `${login}@`}localhost/${database}${
      parameters.size > 0 ? `?${parameters}` : ""
    }`,
  };
}

/** Returns why a database URL is invalid, or `null` if it is valid. */
export function databaseUrlError(text: string): string | null {
  try {
    parseDatabaseUrl(text);
    return null;
  } catch (error) {
    if (error instanceof DatabaseUrlError) return error.message;
    throw error;
  }
}

/** Formats a server as `host:port`, with brackets around an IPv6 address. */
export function formatServer({ host, port }: ServerEndpoint): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function formatServers({ servers }: DatabaseAddress): string {
  return servers.map(formatServer).join(", ");
}

/** Returns the path of the Unix socket, or `null` for a TCP server. */
export function socketPath({ host, port }: ServerEndpoint): string | null {
  return host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;
}

// Parses `h1,h2:5433,[::1]`. A host without a port uses `?port=`, which lists one port for all hosts or one per host.
function parseServers(hosts: string, ports: string | null): readonly [ServerEndpoint, ...ServerEndpoint[]] {
  const defaults = ports?.split(",") ?? [];
  const [first, ...others] = hosts.split(",").map((text, index, all): ServerEndpoint => {
    const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>\/.*|[^:[\]]*))(?::(?<port>\d{1,5}))?$/.exec(text.trim());
    const host = match?.groups?.v6 ?? match?.groups?.host;
    const port = Number(
      match?.groups?.port ?? (defaults.length === 1 ? defaults[0] : defaults[index]) ?? portDefault,
    );
    if (
      host === undefined || !Number.isInteger(port) || port < 1 || port > 65_535 ||
      (host === "" && all.length > 1)
    ) {
      throw new DatabaseUrlError(
        "has an invalid list of servers; separate them by commas, each as host:port",
      );
    }
    return { host: host === "" ? "localhost" : host, port };
  });
  return [first as ServerEndpoint, ...others];
}

function isTlsMode(text: string): text is TlsMode {
  return (tlsModes as readonly string[]).includes(text);
}

/** Returns whether the mode verifies the server's certificate when a CA is given. */
function verifiesCertificate(tlsMode: TlsMode): boolean {
  return tlsMode === "require" || tlsMode.startsWith("verify-");
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseUrlError(
      "has a % that does not start an escape sequence; write %25 for a % in a password",
    );
  }
}
