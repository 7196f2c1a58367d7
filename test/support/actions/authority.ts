/**
 * Certificate authorities for tests, and whatever certificate a test needs, made with openssl.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../folder.ts";

/** A certificate and its key. */
export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** What the certificate says. */
export interface IssueOptions {
  /** The common name. */
  readonly name: string;
  readonly usage: "serverAuth" | "clientAuth";
  /** Left out: `localhost`, 127.0.0.1 and the name. */
  readonly alternativeNames?: string;
  /** Left out: 2. Negative: it has expired. */
  readonly days?: number;
}

/** An authority in a folder of its own, which goes with the tests of the file. */
export class Authority {
  readonly folder: string;
  readonly file: string;
  readonly pem: string;

  constructor(name = "test authority") {
    this.folder = temporaryFolder("ca");
    this.file = join(this.folder, "ca.pem");
    makeKey(join(this.folder, "ca.key"));
    openssl(["req", "-x509", "-new", "-key", join(this.folder, "ca.key"), "-out", this.file, "-days", "3"], {
      name,
    });
    this.pem = readFileSync(this.file, "utf8");
  }

  /** Issues a certificate. */
  issue(options: IssueOptions): Issued {
    const { name, usage, days = 2 } = options;
    const stem = join(this.folder, randomBytes(6).toString("hex"));
    makeKey(`${stem}.key`);
    openssl(["req", "-new", "-key", `${stem}.key`, "-out", `${stem}.csr`], { name });
    const names = options.alternativeNames ?? `DNS:localhost,IP:127.0.0.1,DNS:${name}`;
    writeFileSync(
      `${stem}.ext`,
      `basicConstraints=CA:FALSE\nextendedKeyUsage=${usage}\nsubjectAltName=${names}\n`,
    );
    openssl([
      ...["x509", "-req", "-in", `${stem}.csr`, "-out", `${stem}.pem`, "-days", String(days)],
      ...["-CA", this.file, "-CAkey", join(this.folder, "ca.key"), "-extfile", `${stem}.ext`],
      ...["-set_serial", `0x1${randomBytes(8).toString("hex")}`],
    ]);
    return read(`${stem}.pem`, `${stem}.key`);
  }

  /** A certificate that nobody but itself has signed. */
  selfSigned(name: string): Issued {
    const stem = join(this.folder, randomBytes(6).toString("hex"));
    makeKey(`${stem}.key`);
    openssl(["req", "-x509", "-new", "-key", `${stem}.key`, "-out", `${stem}.pem`, "-days", "2"], { name });
    return read(`${stem}.pem`, `${stem}.key`);
  }
}

function read(certFile: string, keyFile: string): Issued {
  return { certFile, keyFile, cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
}

function makeKey(file: string): void {
  openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file]);
}

function openssl(args: readonly string[], { name }: { name?: string } = {}): void {
  const subject = name === undefined ? [] : ["-subj", `/CN=${name}`];
  execFileSync("openssl", [...args, ...subject], { stdio: ["ignore", "ignore", "pipe"] });
}
