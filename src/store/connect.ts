/**
 * Opens the driver on one server of the database's address. The driver's own choice among several is not used.
 *
 * Rejected: to give them to postgres.js 3.4.9. It goes on to the next without a pause and without an end, also when it
 * was told to stop; it begins again with the first in every new pool, so that one which hangs is all it ever tries; and it
 * takes a standby for a primary (`target_session_attrs=read-write`).
 *
 * @module
 */

import { readFileSync } from "node:fs";
import postgres from "postgres";
import { type DatabaseAddress, type ServerAt, socketPath } from "./address.ts";

type DriverOptions = NonNullable<Parameters<typeof postgres>[1]>;

/** What the driver is told besides where the server is. */
export interface ConnectOptions extends DriverOptions {
  readonly connection: { readonly application_name: string } & Record<string, string | number>;
}

/**
 * Opens the driver; it connects when it is used. Behind a pooler nothing is set for a connection but its name, and no
 * statement is prepared.
 */
export function connectTo(address: DatabaseAddress, server: ServerAt, options: ConnectOptions): postgres.Sql {
  const { connection, ...others } = options;
  const path = socketPath(server);
  // A list, which its types do not know: in a text it would take the colons of an IPv6 address for a port's.
  const host = [server.host] as unknown as string;
  return postgres(address.rest, {
    ...others,
    ...(path === null ? { host, port: [server.port] as unknown as number } : { path }),
    ssl: path === null ? tlsOf(address) : false,
    prepare: !address.isPooled,
    connection: address.isPooled ? { application_name: connection.application_name } : connection,
  });
}

// Read anew for every pool, so that a renewed certificate of the authority is found.
function tlsOf({ tlsMode, caFile }: DatabaseAddress): Exclude<DriverOptions["ssl"], undefined> {
  if (tlsMode === "disable") return false;
  const isVerified = tlsMode.startsWith("verify") ||
    (caFile !== null && caFile !== "system" && tlsMode === "require");
  if (!isVerified) return tlsMode as "require" | "allow" | "prefer";
  return {
    ...(caFile === null || caFile === "system" ? {} : { ca: readFileSync(caFile, "utf8") }),
    // As libpq: the name is compared with verify-full only.
    ...(tlsMode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}
