/** Issues development certificates from a local CA, so that `npm start` uses mutual TLS as production does. */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { filesOf, leaves, type Pair, readPair, replaceFiles } from "../src/ctl/certificate_files.ts";
import { issueCertificate } from "../src/ctl/x509.ts";

/** The paths of the PEM files with the development certificates and keys. */
export interface DevCertificates {
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

const caDays = 3650;
const leafDays = 365;
// Certificates are renewed early, because a development server may run for weeks.
const renewBeforeMs = 30 * 86_400_000;

/** The client's common name, for `ACTIONS_CLIENT_NAME`. */
export const devClientName = "lead-intake";

const names = { server: ["localhost", "127.0.0.1", "::1"], client: [devClientName] } as const;

/** Returns the paths of the files in a folder, whether or not they exist. */
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
 * Creates the files in `folder` that are missing, invalid or about to expire, and returns the paths of all of them. A new
 * folder gets mode 700, and new files get mode 600.
 *
 * @throws {Error} if the folder cannot be written
 */
export function ensureDevCertificates(folder: string): DevCertificates {
  const files = (name: string) => ({
    certFile: join(resolve(folder), `${name}.pem`),
    keyFile: join(resolve(folder), `${name}.key`),
  });
  const found = readPair(files("ca"));
  const isCaValid = isValid(found, found);
  const missing = leaves.filter((leaf) => !isCaValid || !isValid(readPair(files(leaf)), found));
  if (missing.length > 0) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const authority = isCaValid && found !== null
      ? found
      : issueCertificate({ name: "Lead Intake development CA", use: "authority", days: caDays });
    const issued = missing.map((leaf) => {
      const [name] = names[leaf];
      const options = { name, names: names[leaf], use: leaf, days: leafDays, issuer: authority };
      return filesOf(files(leaf), issueCertificate(options));
    });
    const all = [...isCaValid ? [] : filesOf(files("ca"), authority), ...issued.flat()];
    replaceFiles(all.map((file) => ({ ...file, mode: 0o600 })));
  }
  return devCertificatesIn(folder);
}

function isValid(pair: Pair | null, ca: Pair | null): boolean {
  if (pair === null || ca === null || !pair.isKeyMatching) return false;
  const remainingMs = Date.parse(pair.certificate.validTo) - Date.now();
  return remainingMs > renewBeforeMs && pair.certificate.verify(ca.certificate.publicKey);
}
