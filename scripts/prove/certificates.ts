/**
 * The certificate authority of a round, which issues the server and client certificates.
 *
 * @module
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CertificateFiles, filesOf, type Leaf, replaceFiles } from "../../src/ctl/certificate_files.ts";
import { type Credentials, issueCertificate } from "../../src/ctl/x509.ts";

/** A certificate authority with files in its own folder. */
export class Authority {
  readonly #folder: string;
  readonly #credentials: Credentials = issueCertificate({ name: "proof", use: "authority", days: 3 });
  readonly certFile: string;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.certFile = join(folder, "ca.pem");
    replaceFiles(filesOf({ certFile: this.certFile, keyFile: join(folder, "ca.key") }, this.#credentials));
  }

  get pem(): string {
    return this.#credentials.cert;
  }

  /** Issues a certificate for localhost and returns its files. */
  issue(leaf: Leaf): CertificateFiles {
    const stem = join(this.#folder, `${leaf}-${this.#count++}`);
    const files = { certFile: `${stem}.pem`, keyFile: `${stem}.key` };
    const names = ["localhost", "127.0.0.1"];
    const options = { name: "localhost", names, use: leaf, days: 2, issuer: this.#credentials };
    replaceFiles(filesOf(files, issueCertificate(options)));
    return files;
  }
}
