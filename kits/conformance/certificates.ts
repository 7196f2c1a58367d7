/**
 * Certificates for the cases: an authority that drivers are told of, and one that nobody trusts.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a TLS server needs. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** All that the cases need. */
export interface Certificates {
  /** The file for `ca_file`. */
  readonly caFile: string;
  readonly trusted: Pair;
  readonly ofAnotherName: Pair;
  readonly ofAnotherAuthority: Pair;
}

const loopback = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost";

/** Makes them in a folder, with `openssl`. @throws {Error} when that is not there */
export function makeCertificates(folder: string): Certificates {
  mkdirSync(folder, { recursive: true });
  // No argument contains a space.
  const openssl = (command: string) =>
    execFileSync("openssl", command.split(" "), { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const newKey = (name: string) => openssl(`ecparam -name prime256v1 -genkey -noout -out ${name}.key`);
  const authority = (name: string) => {
    newKey(name);
    const usage = "keyUsage=critical,keyCertSign,cRLSign";
    openssl(`req -x509 -new -key ${name}.key -out ${name}.pem -days 2 -subj /CN=${name} -addext ${usage}`);
  };
  const leaf = (name: string, by: string, names: string): Pair => {
    newKey(name);
    openssl(`req -new -key ${name}.key -out ${name}.csr -subj /CN=${name}`);
    writeFileSync(
      join(folder, `${name}.ext`),
      `${names}\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n`,
    );
    const signer = `-CA ${by}.pem -CAkey ${by}.key -CAcreateserial`;
    openssl(`x509 -req -in ${name}.csr ${signer} -out ${name}.pem -days 2 -extfile ${name}.ext`);
    const read = (file: string) => readFileSync(join(folder, file), "utf8");
    return { cert: read(`${name}.pem`), key: read(`${name}.key`) };
  };
  authority("authority");
  authority("stranger");
  return {
    caFile: join(folder, "authority.pem"),
    trusted: leaf("server", "authority", loopback),
    ofAnotherName: leaf("elsewhere", "authority", "subjectAltName=DNS:intake.elsewhere.example"),
    ofAnotherAuthority: leaf("strangers", "stranger", loopback),
  };
}
