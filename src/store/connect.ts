/**
 * Connects the driver to one of the servers in a database URL.
 *
 * Rejected: passing all servers to postgres.js 3.4.9, which then retries forever, even after `end()`; starts every new
 * pool with the first server, even if that server hangs; and mistakes a standby for a primary.
 */

import { readFileSync } from "node:fs";
import postgres from "postgres";
import { type DatabaseAddress, type ServerEndpoint, socketPath } from "./address.ts";

type DriverOptions = NonNullable<Parameters<typeof postgres>[1]>;

export interface ConnectOptions extends DriverOptions {
  readonly connection: { readonly application_name: string } & Record<string, string | number>;
}

/** Creates a driver instance, which connects on first use. Behind a pooler, it sets only `application_name`. */
export function connectTo(
  address: DatabaseAddress,
  server: ServerEndpoint,
  options: ConnectOptions,
): postgres.Sql {
  const { connection, ...others } = options;
  const path = socketPath(server);
  // The driver splits a string at a colon, even inside an IPv6 address, but not an array, which its types do not allow.
  const host = [server.host] as unknown as string;
  return postgres(address.driverUrl, {
    ...others,
    ...(path === null ? { host, port: [server.port] as unknown as number } : { path }),
    ssl: path === null ? tlsOptions(address) : false,
    prepare: !address.isPooled,
    // PgBouncer can send a pipelined statement's Parse and Bind to different servers.
    ...(address.isPooled ? { max_pipeline: 0 } : {}),
    connection: address.isPooled ? { application_name: connection.application_name } : connection,
  });
}

// Reads the CA file again for every driver instance, so that a renewed certificate takes effect.
function tlsOptions({ tlsMode, caFile }: DatabaseAddress): Exclude<DriverOptions["ssl"], undefined> {
  if (tlsMode === "disable") return false;
  const isVerified = tlsMode.startsWith("verify") ||
    (caFile !== null && caFile !== "system" && tlsMode === "require");
  if (!isVerified) return tlsMode as "require" | "allow" | "prefer";
  return {
    ...(caFile === null || caFile === "system" ? {} : { ca: readFileSync(caFile, "utf8") }),
    // As in libpq, only verify-full compares the host name.
    ...(tlsMode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}
