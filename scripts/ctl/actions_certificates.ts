/**
 * The files of mutual TLS between the service and the actions process: an authority, and what it has signed.
 *
 * @module
 */

import type { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasOpenssl, inWorkshop, type Leaf, leaves, readPair, type Workshop } from "../private_authority.ts";
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

function requireOpenssl(): void {
  if (hasOpenssl()) return;
  throw new Refused(
    "openssl is not installed, and it makes the certificates; for example: apt install openssl",
  );
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
 * @throws {Refused} when one of the files is there, or openssl is not
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
  requireOpenssl();
  // Both processes' accounts read here; each key is its own account's.
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(caKeyFile), { recursive: true, mode: 0o700 });
  inWorkshop(folder, (workshop) => {
    const authority = workshop.makeAuthority({ name: "Lead Intake private CA", days: authorityDays });
    for (const leaf of leaves) {
      workshop.makeLeaf(leaf, { names: names[leaf] ?? namesDefault[leaf], days, authority });
    }
    workshop.moveTo(caKeyFile, "ca.key", 0o600);
    workshop.moveTo(caFile, "ca.pem", 0o644);
    publishLeaves(place, workshop);
  });
}

/**
 * Makes both certificates anew. The authority stays, so each end goes on trusting the other, whichever reads its new files
 * first.
 *
 * @throws {Refused} without the authority and its key, or openssl
 */
export function renew({ place, days, names }: Wanted): void {
  const { folder, caFile, caKeyFile } = place;
  for (const file of [caFile, caKeyFile]) {
    if (!existsSync(file)) {
      throw new Refused(
        `${file} is not there, and a renewal needs it; --ca-key FILE names the authority's key where it is kept`,
      );
    }
  }
  const ca = readPair(caFile, caKeyFile);
  if (ca === null || !ca.fitsKey) throw new Refused(`${caKeyFile} is not the key of ${caFile}`);
  const leftDays = Math.floor((Date.parse(ca.certificate.validTo) - Date.now()) / dayMs);
  if (leftDays < 1) {
    throw new Refused(
      `The authority ${caFile} has expired; make another one in an empty folder, for both processes`,
    );
  }
  requireOpenssl();
  inWorkshop(folder, (workshop) => {
    for (const leaf of leaves) {
      const before = readPair(certFile(place, leaf), keyFile(place, leaf));
      const kept = before === null ? namesDefault[leaf] : namesOf(before.certificate);
      workshop.makeLeaf(leaf, {
        names: names[leaf] ?? kept,
        // Nothing outlives who has signed it.
        days: Math.min(days, leftDays),
        authority: { certFile: caFile, keyFile: caKeyFile },
      });
    }
    publishLeaves(place, workshop);
  });
}

function publishLeaves(place: Place, workshop: Workshop): void {
  for (const leaf of leaves) {
    workshop.moveTo(keyFile(place, leaf), `${leaf}.key`, 0o600);
    workshop.moveTo(certFile(place, leaf), `${leaf}.pem`, 0o644);
  }
}
