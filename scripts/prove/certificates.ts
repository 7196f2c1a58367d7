/**
 * The certificates of a round: an authority, and what it signs for both ends of both TLS connections.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AuthorityFiles, inWorkshop, type Leaf } from "../private_authority.ts";

/** A certificate and its key as files, PEM. */
export interface Pair {
  readonly certFile: string;
  readonly keyFile: string;
}

/** One authority in a folder of its own. */
export class Authority {
  readonly #folder: string;
  readonly #files: AuthorityFiles;
  #made = 0;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.#files = { certFile: join(folder, "ca.pem"), keyFile: join(folder, "ca.key") };
    inWorkshop(folder, (shop) => {
      shop.makeAuthority({ name: "proof", days: 3 });
      shop.moveTo(this.#files.certFile, "ca.pem", 0o644);
      shop.moveTo(this.#files.keyFile, "ca.key", 0o600);
    });
  }

  get certFile(): string {
    return this.#files.certFile;
  }

  get pem(): string {
    return readFileSync(this.#files.certFile, "utf8");
  }

  /** Makes a certificate for this machine. */
  make(leaf: Leaf): Pair {
    const stem = join(this.#folder, `${leaf}-${this.#made++}`);
    inWorkshop(this.#folder, (shop) => {
      shop.makeLeaf(leaf, { names: ["localhost", "127.0.0.1"], days: 2, authority: this.#files });
      shop.moveTo(`${stem}.pem`, `${leaf}.pem`, 0o644);
      shop.moveTo(`${stem}.key`, `${leaf}.key`, 0o600);
    });
    return { certFile: `${stem}.pem`, keyFile: `${stem}.key` };
  }
}

/** Puts one pair in the place of another, as a renewal does: not both files at once. Returns the serial number. */
export function replacePair(place: Pair, by: Pair): string {
  copyFileSync(by.keyFile, place.keyFile);
  copyFileSync(by.certFile, place.certFile);
  return serialOf(place.certFile);
}

/** The serial number of a certificate. */
export function serialOf(certFile: string): string {
  return new X509Certificate(readFileSync(certFile)).serialNumber;
}
