/** Parses `DATABASE_URL`: a `postgres://` address in libpq's syntax, with one server or several. */

export interface ServerAt {
  /** A host name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

export interface DatabaseAddress {
  /** With several servers, `primary.ts` finds the one that takes writes. */
  readonly servers: readonly [ServerAt, ...ServerAt[]];
  readonly user: string | null;
  readonly database: string | null;
  /** `?pooler=transaction`: no session settings, no prepared statements. */
  readonly isPooled: boolean;
  /** PEM certificates that may sign the server's (`?sslrootcert=`). */
  readonly caFile: string | null;
  readonly tlsMode: TlsMode;
  /** The address without servers and the options above, for the driver. Contains the password. */
  readonly rest: string;
}

const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export type TlsMode = typeof tlsModes[number];

/** The message continues a sentence ("DATABASE_URL …") and quotes nothing of the address. */
export class AddressFault extends Error {
  override readonly name = "AddressFault";
}

const shape =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const portDefault = 5432;

/**
 * Parses an address.
 *
 * Chosen: `target_session_attrs` is always read-write, because nothing here can work on a standby.
 *
 * @throws {AddressFault}
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const { login = "", hosts = "", database = "", query = "" } = shape.exec(text)?.groups ?? {};
  if (!shape.test(text)) {
    throw new AddressFault("is not a URL such as postgres://user:password@host:5432/database");
  }
  const parameters = new URLSearchParams(query);
  const take = (name: string): string | null => {
    const value = parameters.get(name);
    parameters.delete(name);
    return value === "" ? null : value;
  };
  const servers = serversOf(take("host") ?? decoded(hosts), take("port"));
  const wanted = take("target_session_attrs");
  if (wanted !== null && wanted !== "read-write" && wanted !== "primary") {
    throw new AddressFault(
      "has a target_session_attrs other than read-write; the service needs the server that takes writes",
    );
  }
  const pooler = take("pooler");
  if (pooler !== null && pooler !== "transaction") {
    throw new AddressFault("has a pooler other than transaction");
  }
  const tlsMode = take("sslmode") ?? "disable";
  if (!isTlsMode(tlsMode)) throw new AddressFault(`has an sslmode other than ${tlsModes.join(", ")}`);
  const caFile = take("sslrootcert");
  if (caFile !== null && !isChecked(tlsMode)) {
    throw new AddressFault(
      "has an sslrootcert that has no effect; it needs sslmode=verify-full, verify-ca or require",
    );
  }
  // connection_set.ts sets these itself.
  take("application_name");
  take("connect_timeout");
  const [user = ""] = login.split(":", 1);
  for (const part of login.split(":")) decoded(part);
  return {
    servers,
    user: decoded(user) || null,
    database: decoded(database) || decoded(user) || null,
    isPooled: pooler !== null,
    caFile,
    tlsMode,
    // The driver cannot parse an address without a host.
    rest: `postgres://${login === "" ? "" : `${login}@`}localhost/${database}${
      parameters.size > 0 ? `?${parameters}` : ""
    }`,
  };
}

/** The message of the {@linkcode AddressFault} for an address, or `null` when it is valid. */
export function addressFault(text: string): string | null {
  try {
    parseDatabaseUrl(text);
    return null;
  } catch (error) {
    if (error instanceof AddressFault) return error.message;
    throw error;
  }
}

/** `host:port`, with brackets around an IPv6 address. */
export function nameOf({ host, port }: ServerAt): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** All servers of an address, in order. */
export function namesOf({ servers }: DatabaseAddress): string {
  return servers.map(nameOf).join(", ");
}

/** The path of the Unix socket, or `null` for a TCP server. */
export function socketPath({ host, port }: ServerAt): string | null {
  return host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;
}

// `h1,h2:5433,[::1]`; a host without a port takes it from `?port=` (one for all, or one each).
function serversOf(hosts: string, ports: string | null): readonly [ServerAt, ...ServerAt[]] {
  const further = ports?.split(",") ?? [];
  const [first, ...others] = hosts.split(",").map((text, index, all): ServerAt => {
    const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>\/.*|[^:[\]]*))(?::(?<port>\d{1,5}))?$/.exec(text.trim());
    const host = match?.groups?.v6 ?? match?.groups?.host;
    const port = Number(
      match?.groups?.port ?? (further.length === 1 ? further[0] : further[index]) ?? portDefault,
    );
    if (
      host === undefined || !Number.isInteger(port) || port < 1 || port > 65_535 ||
      (host === "" && all.length > 1)
    ) {
      throw new AddressFault("is not valid: its servers must be host:port or host:port,host:port");
    }
    return { host: host === "" ? "localhost" : host, port };
  });
  return [first as ServerAt, ...others];
}

function isTlsMode(text: string): text is TlsMode {
  return (tlsModes as readonly string[]).includes(text);
}

/** Whether the mode verifies the server's certificate when a CA is given. */
function isChecked(tlsMode: TlsMode): boolean {
  return tlsMode === "require" || tlsMode.startsWith("verify-");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressFault("has a % that starts no escape; in a password, write %25");
  }
}
