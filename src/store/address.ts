/**
 * The address of the database, as `DATABASE_URL` has it: a `postgres://` address as libpq reads one, with one server or
 * several.
 *
 * @module
 */

/** A server. */
export interface ServerAt {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** Where the database is. */
export interface DatabaseAddress {
  /** One at least. With several, that which takes writes is looked for: see `primary.ts`. */
  readonly servers: readonly [ServerAt, ...ServerAt[]];
  readonly user: string | null;
  readonly database: string | null;
  /**
   * There is a pooler in between that gives out connections by the transaction (`?pooler=transaction`): nothing that is set
   * for a connection holds, and no statement is prepared.
   */
  readonly isPooled: boolean;
  /** PEM certificates of who may have signed the server's (`?sslrootcert=`), or `null`. */
  readonly caFile: string | null;
  readonly tlsMode: TlsMode;
  /** The same address without the servers and what is said above: for the driver. It has the password. */
  readonly rest: string;
}

const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

/** `sslmode`. */
export type TlsMode = typeof tlsModes[number];

/** The address cannot be used; the message is a sentence's end after "is" or "has", and quotes nothing of it. */
export class AddressFault extends Error {
  override readonly name = "AddressFault";
}

const shape =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const portDefault = 5432;

/**
 * Reads an address.
 *
 * Chosen: with several servers it is always the one that takes writes that is wanted (`target_session_attrs=read-write`
 * or `primary`, said or not), because no process of ours can do its work on a copy, and what a copy says may be old.
 *
 * @throws {AddressFault} with what is wrong
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const { login = "", hosts = "", database = "", query = "" } = shape.exec(text)?.groups ?? {};
  if (!shape.test(text)) {
    throw new AddressFault("is no address such as postgres://user:password@host:5432/database");
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
      "has a target_session_attrs other than read-write: only the server that takes writes is of use",
    );
  }
  const pooler = take("pooler");
  if (pooler !== null && pooler !== "transaction") {
    throw new AddressFault("has a pooler other than transaction");
  }
  const tlsMode = take("sslmode") ?? "disable";
  if (!isTlsMode(tlsMode)) throw new AddressFault(`has an sslmode that is none of ${tlsModes.join(", ")}`);
  const caFile = take("sslrootcert");
  if (caFile !== null && !isChecked(tlsMode)) {
    throw new AddressFault(
      "has an sslrootcert that nothing is checked by: it needs sslmode=verify-full, verify-ca or require",
    );
  }
  // Ours, whatever it says: see generation.ts.
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
    // A name in the server's place: without one it could not be read.
    rest: `postgres://${login === "" ? "" : `${login}@`}localhost/${database}${
      parameters.size > 0 ? `?${parameters}` : ""
    }`,
  };
}

/** What is wrong with an address, as {@linkcode AddressFault} has it; `null` when it can be read. */
export function addressFault(text: string): string | null {
  try {
    parseDatabaseUrl(text);
    return null;
  } catch (error) {
    if (error instanceof AddressFault) return error.message;
    throw error;
  }
}

/** `host:port`, with the brackets of an IPv6 address. */
export function nameOf({ host, port }: ServerAt): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** All servers of an address, in its order. */
export function namesOf({ servers }: DatabaseAddress): string {
  return servers.map(nameOf).join(", ");
}

/** The path of the Unix socket, or `null` when the server is reached by TCP. */
export function socketPath({ host, port }: ServerAt): string | null {
  return host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;
}

// `h1,h2:5433,[::1]`, with the ports of `?port=` (one for all, or one each) where a host has none.
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
      throw new AddressFault("is no address: its servers are not host:port, or host:port,host:port");
    }
    return { host: host === "" ? "localhost" : host, port };
  });
  return [first as ServerAt, ...others];
}

function isTlsMode(text: string): text is TlsMode {
  return (tlsModes as readonly string[]).includes(text);
}

/** Whether the server's certificate is looked at, when there is one to look at it by. */
function isChecked(tlsMode: TlsMode): boolean {
  return tlsMode === "require" || tlsMode.startsWith("verify-");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressFault("has a % that is no escape; in a password it is written %25");
  }
}
