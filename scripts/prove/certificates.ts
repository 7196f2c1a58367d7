/**
 * The certificates of a round: an authority, and what it signs for both ends of both TLS connections.
 *
 * @module
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CertificateFiles, filesOf, type Leaf, replaceFiles } from "../../src/ctl/certificate_files.ts";
import { type Credentials, issueCertificate } from "../../src/ctl/x509.ts";

/** One authority in a folder of its own. */
export class Authority {
  readonly #folder: string;
  readonly #credentials: Credentials = issueCertificate({ name: "proof", use: "authority", days: 3 });
  readonly certFile: string;
  #made = 0;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.certFile = join(folder, "ca.pem");
    replaceFiles(filesOf({ certFile: this.certFile, keyFile: join(folder, "ca.key") }, this.#credentials));
  }

  get pem(): string {
    return this.#credentials.cert;
  }

  /** Makes a certificate for this machine. */
  make(leaf: Leaf): CertificateFiles {
    const stem = join(this.#folder, `${leaf}-${this.#made++}`);
    const files = { certFile: `${stem}.pem`, keyFile: `${stem}.key` };
    const names = ["localhost", "127.0.0.1"];
    const options = { name: "localhost", names, use: leaf, days: 2, issuer: this.#credentials };
    replaceFiles(filesOf(files, issueCertificate(options)));
    return files;
  }
}
