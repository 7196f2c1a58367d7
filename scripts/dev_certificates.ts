/**
 * Certificates for development: a CA of this machine's own, and with it a server's and a client's, so that
 * `npm start` speaks mutual TLS like production.
 *
 * @module
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { hasOpenssl, inWorkshop, leaves, type Pair, readPair } from "./private_authority.ts";

/** Where the files are, PEM. */
export interface DevCertificates {
  readonly kind: "ready";
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

/** Why there are none; `message` is a sentence for the person at the terminal. */
export interface NoCertificates {
  readonly kind: "no_openssl" | "failed";
  readonly message: string;
}

const caDays = 3650;
const leafDays = 365;
// Renewed when they have less than this left: nobody restarts every day.
const renewBeforeMs = 30 * 86_400_000;

/** The client's common name, for `ACTIONS_CLIENT_NAME`. */
export const devClientName = "lead-intake";

const names = { server: ["localhost", "127.0.0.1", "::1"], client: [devClientName] } as const;

/** Where the files of a folder are, whether they are there or not. */
export function devCertificatesIn(folder: string): DevCertificates {
  const path = (name: string) => join(resolve(folder), name);
  return {
    kind: "ready",
    caFile: path("ca.pem"),
    serverCertFile: path("server.pem"),
    serverKeyFile: path("server.key"),
    clientCertFile: path("client.pem"),
    clientKeyFile: path("client.key"),
  };
}

/**
 * Makes what is missing, broken or near its end in `folder` (created with mode 700, all files 600), and
 * returns the paths; everything is kept as it is when it is good.
 */
export function ensureDevCertificates(folder: string): DevCertificates | NoCertificates {
  const path = (name: string) => join(resolve(folder), name);
  const ready = devCertificatesIn(folder);
  const ca = readPair(path("ca.pem"), path("ca.key"));
  const keepsCa = isGood(ca, ca);
  const missing = leaves.filter((leaf) =>
    !keepsCa || !isGood(readPair(path(`${leaf}.pem`), path(`${leaf}.key`)), ca)
  );
  if (missing.length === 0) return ready;
  if (!hasOpenssl()) {
    return {
      kind: "no_openssl",
      message: "openssl is not installed; it makes the certificates for delivery",
    };
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    inWorkshop(resolve(folder), (workshop) => {
      const authority = keepsCa
        ? { certFile: path("ca.pem"), keyFile: path("ca.key") }
        : workshop.makeAuthority({ name: "Lead Intake development CA", days: caDays });
      for (const leaf of missing) {
        workshop.makeLeaf(leaf, { names: names[leaf], days: leafDays, authority });
      }
      for (const name of keepsCa ? missing : ["ca", ...missing]) {
        for (const file of [`${name}.key`, `${name}.pem`]) workshop.moveTo(path(file), file, 0o600);
      }
    });
    return ready;
  } catch (error) {
    return { kind: "failed", message: `The certificates could not be made: ${(error as Error).message}` };
  }
}

function isGood(pair: Pair | null, ca: Pair | null): boolean {
  if (pair === null || ca === null || !pair.fitsKey) return false;
  const leftMs = Date.parse(pair.certificate.validTo) - Date.now();
  return leftMs > renewBeforeMs && pair.certificate.verify(ca.certificate.publicKey);
}
