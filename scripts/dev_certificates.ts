/**
 * Development certificates: a local CA that issues a server and a client certificate, so that `npm start` uses mutual TLS
 * as production does.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { filesOf, leaves, type Pair, readPair, replaceFiles } from "../src/ctl/certificate_files.ts";
import { issueCertificate } from "../src/ctl/x509.ts";

/** Paths of the PEM files. */
export interface DevCertificates {
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

const caDays = 3650;
const leafDays = 365;
// Renewed when less than this is left, because a development server may run for days.
const renewBeforeMs = 30 * 86_400_000;

/** The client's common name, for `ACTIONS_CLIENT_NAME`. */
export const devClientName = "lead-intake";

const names = { server: ["localhost", "127.0.0.1", "::1"], client: [devClientName] } as const;

/** The paths in a folder, whether or not the files exist. */
export function devCertificatesIn(folder: string): DevCertificates {
  const path = (name: string) => join(resolve(folder), name);
  return {
    caFile: path("ca.pem"),
    serverCertFile: path("server.pem"),
    serverKeyFile: path("server.key"),
    clientCertFile: path("client.pem"),
    clientKeyFile: path("client.key"),
  };
}

/**
 * Creates what is missing, broken or about to expire in `folder` (mode 700, files 600) and returns the paths.
 *
 * @throws {Error} if the folder cannot be written
 */
export function ensureDevCertificates(folder: string): DevCertificates {
  const files = (name: string) => ({
    certFile: join(resolve(folder), `${name}.pem`),
    keyFile: join(resolve(folder), `${name}.key`),
  });
  const found = readPair(files("ca"));
  const keepsCa = isGood(found, found);
  const missing = leaves.filter((leaf) => !keepsCa || !isGood(readPair(files(leaf)), found));
  if (missing.length > 0) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const authority = keepsCa && found !== null
      ? found
      : issueCertificate({ name: "Lead Intake development CA", use: "authority", days: caDays });
    const issued = missing.map((leaf) => {
      const [name] = names[leaf];
      const options = { name, names: names[leaf], use: leaf, days: leafDays, issuer: authority };
      return filesOf(files(leaf), issueCertificate(options));
    });
    const all = [...keepsCa ? [] : filesOf(files("ca"), authority), ...issued.flat()];
    replaceFiles(all.map((file) => ({ ...file, mode: 0o600 })));
  }
  return devCertificatesIn(folder);
}

function isGood(pair: Pair | null, ca: Pair | null): boolean {
  if (pair === null || ca === null || !pair.fitsKey) return false;
  const leftMs = Date.parse(pair.certificate.validTo) - Date.now();
  return leftMs > renewBeforeMs && pair.certificate.verify(ca.certificate.publicKey);
}
