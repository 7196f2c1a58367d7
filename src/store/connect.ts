/**
 * Opens the driver on one server of an address.
 *
 * Rejected: giving postgres.js 3.4.9 several servers. It retries forever even after `end()`, each new pool starts
 * with the first server again even if that one hangs, and it takes a standby for a primary.
 */

import { readFileSync } from "node:fs";
import postgres from "postgres";
import { type DatabaseAddress, type ServerAt, socketPath } from "./address.ts";

type DriverOptions = NonNullable<Parameters<typeof postgres>[1]>;

export interface ConnectOptions extends DriverOptions {
  readonly connection: { readonly application_name: string } & Record<string, string | number>;
}

/** Creates the driver, which connects on first use. Behind a pooler it sets only the application name. */
export function connectTo(address: DatabaseAddress, server: ServerAt, options: ConnectOptions): postgres.Sql {
  const { connection, ...others } = options;
  const path = socketPath(server);
  // An array, which the types do not allow: in a string, an IPv6 address's colons would start a port.
  const host = [server.host] as unknown as string;
  return postgres(address.rest, {
    ...others,
    ...(path === null ? { host, port: [server.port] as unknown as number } : { path }),
    ssl: path === null ? tlsOf(address) : false,
    prepare: !address.isPooled,
    connection: address.isPooled ? { application_name: connection.application_name } : connection,
  });
}

// Read for every pool, so that a renewed CA certificate takes effect.
function tlsOf({ tlsMode, caFile }: DatabaseAddress): Exclude<DriverOptions["ssl"], undefined> {
  if (tlsMode === "disable") return false;
  const isVerified = tlsMode.startsWith("verify") ||
    (caFile !== null && caFile !== "system" && tlsMode === "require");
  if (!isVerified) return tlsMode as "require" | "allow" | "prefer";
  return {
    ...(caFile === null || caFile === "system" ? {} : { ca: readFileSync(caFile, "utf8") }),
    // Like libpq, compares the name only with verify-full.
    ...(tlsMode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}
