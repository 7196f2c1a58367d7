/** Certificate authorities and certificates for tests. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type CertificateFiles, filesOf, replaceFiles } from "../../src/ctl/certificate_files.ts";
import { type CertificateOptions, type Credentials, issueCertificate } from "../../src/ctl/x509.ts";
import { temporaryFolder } from "./folder.ts";

/** A certificate and its key, as text and as files. */
export interface Issued extends CertificateFiles, Credentials {}

/** The options of a certificate. `names` defaults to `localhost`, 127.0.0.1 and the name, `days` to 2. */
export type IssueOptions = Pick<CertificateOptions, "name" | "use" | "names"> & { readonly days?: number };

/** An authority in a temporary folder that is removed after the tests of the file. */
export class Authority {
  readonly folder: string = temporaryFolder("ca");
  readonly file: string;
  readonly pem: string;
  readonly #issuer: Credentials;

  constructor(name = "test authority") {
    this.#issuer = issueCertificate({ name, use: "authority", days: 3 });
    this.pem = this.#issuer.cert;
    this.file = writePair(this.folder, this.#issuer, "ca").certFile;
  }

  /** Issues a certificate. */
  issue(options: IssueOptions): Issued {
    const names = ["localhost", "127.0.0.1", options.name];
    return writePair(this.folder, issueCertificate({ names, days: 2, ...options, issuer: this.#issuer }));
  }

  /** Returns a self-signed server certificate. */
  selfSigned(name: string): Issued {
    return selfSigned(this.folder, name);
  }
}

/** Creates a self-signed server certificate for `localhost` and 127.0.0.1. */
export function selfSigned(
  folder: string,
  name: string,
  keyType: CertificateOptions["keyType"] = "ecdsa",
): Issued {
  const names = ["localhost", "127.0.0.1"];
  return writePair(folder, issueCertificate({ name, names, use: "server", days: 2, keyType }), name);
}

function writePair(folder: string, made: Credentials, name = randomBytes(6).toString("hex")): Issued {
  const files = { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) };
  replaceFiles(filesOf(files, made));
  return { ...files, ...made };
}
