/**
 * The files of mutual TLS between the service and the actions process: an authority, and what it has signed.
 *
 * @module
 */

import type { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesOf, type Leaf, leaves, readPair, replaceFiles } from "./certificate_files.ts";
import { type Credentials, issueCertificate } from "./x509.ts";
import { Refused } from "./command.ts";

// Chosen: ten years for the authority, because changing it stops delivery until both ends trust the new one, and one
// for what it signs, because those are replaced while both processes run.
const authorityDays = 3_650;
const dayMs = 86_400_000;

/** Names in the certificates for whom none are given. */
export const namesDefault: Readonly<Record<Leaf, readonly string[]>> = {
  server: ["localhost", "127.0.0.1", "::1"],
  client: ["lead-intake"],
};

/** Where everything is. */
export interface Place {
  readonly folder: string;
  readonly caFile: string;
  readonly caKeyFile: string;
}

/** The certificate of one end. */
export function certFile({ folder }: Place, leaf: Leaf): string {
  return join(folder, `${leaf}.pem`);
}

/** Its key. */
export function keyFile({ folder }: Place, leaf: Leaf): string {
  return join(folder, `${leaf}.key`);
}

/** The names of a certificate, DNS names and addresses. */
export function namesOf(certificate: X509Certificate): string[] {
  const names = [...(certificate.subjectAltName ?? "").matchAll(/(?:^|, )(?:DNS|IP Address):([^,]+)/g)];
  return names.map(([, name = ""]) => name);
}

/** What is asked for. */
export interface Wanted {
  readonly place: Place;
  readonly days: number;
  /** Left out: as before, or the default. */
  readonly names: Readonly<Partial<Record<Leaf, readonly string[]>>>;
}

/**
 * Makes the authority and both certificates.
 *
 * @throws {Refused} when one of the files is there
 */
export function create({ place, days, names }: Wanted): void {
  const { folder, caFile, caKeyFile } = place;
  const files = [
    caFile,
    caKeyFile,
    ...leaves.flatMap((leaf) => [certFile(place, leaf), keyFile(place, leaf)]),
  ];
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) {
    throw new Refused(
      `${found} is there already and stays as it is; --renew replaces what the authority has signed`,
    );
  }
  // Both processes' accounts read here; each key is its own account's.
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(caKeyFile), { recursive: true, mode: 0o700 });
  const authority = issueCertificate({
    name: "Lead Intake private CA",
    use: "authority",
    days: authorityDays,
  });
  replaceFiles([
    ...filesOf({ certFile: caFile, keyFile: caKeyFile }, authority),
    ...leaves.flatMap((leaf) => issueLeaf(place, leaf, names[leaf] ?? namesDefault[leaf], days, authority)),
  ]);
}

/**
 * Makes both certificates anew. The authority stays, so each end goes on trusting the other, whichever reads its new files
 * first.
 *
 * @throws {Refused} without the authority and its key
 */
export function renew({ place, days, names }: Wanted): void {
  const { caFile, caKeyFile } = place;
  for (const file of [caFile, caKeyFile]) {
    if (!existsSync(file)) {
      throw new Refused(
        `${file} is not there, and a renewal needs it; --ca-key FILE names the authority's key where it is kept`,
      );
    }
  }
  const ca = readPair({ certFile: caFile, keyFile: caKeyFile });
  if (ca === null || !ca.fitsKey) throw new Refused(`${caKeyFile} is not the key of ${caFile}`);
  const leftDays = Math.floor((Date.parse(ca.certificate.validTo) - Date.now()) / dayMs);
  if (leftDays < 1) {
    throw new Refused(
      `The authority ${caFile} has expired; make another one in an empty folder, for both processes`,
    );
  }
  replaceFiles(leaves.flatMap((leaf) => {
    const before = readPair({ certFile: certFile(place, leaf), keyFile: keyFile(place, leaf) });
    const kept = before === null ? namesDefault[leaf] : namesOf(before.certificate);
    // A certificate must not outlive its authority's.
    return issueLeaf(place, leaf, names[leaf] ?? kept, Math.min(days, leftDays), ca);
  }));
}

function issueLeaf(place: Place, leaf: Leaf, names: readonly string[], days: number, issuer: Credentials) {
  const files = { certFile: certFile(place, leaf), keyFile: keyFile(place, leaf) };
  return filesOf(files, issueCertificate({ name: names[0] ?? leaf, names, use: leaf, days, issuer }));
}
