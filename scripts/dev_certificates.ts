/**
 * Certificates for development: a CA of this machine's own, and with it a server's and a client's, so that
 * `npm start` speaks mutual TLS like production. They are made with `openssl`.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Where the files are, PEM. */
export interface DevCertificates {
  readonly kind: "ready";
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

/** Why there are none; `message` is a sentence for the person at the terminal. */
export interface NoCertificates {
  readonly kind: "no_openssl" | "failed";
  readonly message: string;
}

const caDays = 3650;
const leafDays = 365;
// Renewed when they have less than this left: nobody restarts every day.
const renewBeforeMs = 30 * 86_400_000;

/** The client's common name, for `ACTIONS_CLIENT_NAME`. */
export const devClientName = "lead-intake";

/**
 * Makes what is missing, broken or near its end in `folder` (created with mode 700, all files 600), and
 * returns the paths; everything is kept as it is when it is good.
 */
export function ensureDevCertificates(folder: string): DevCertificates | NoCertificates {
  const path = (name: string) => join(resolve(folder), name);
  const ready: DevCertificates = {
    kind: "ready",
    caFile: path("ca.pem"),
    serverCertFile: path("server.pem"),
    serverKeyFile: path("server.key"),
    clientCertFile: path("client.pem"),
    clientKeyFile: path("client.key"),
  };
  const ca = readPair(path("ca.pem"), path("ca.key"));
  const missing = leaves.filter((leaf) => !isGood(readPair(path(`${leaf}.pem`), path(`${leaf}.key`)), ca));
  if (isGood(ca, ca) && missing.length === 0) return ready;
  if (spawnSync("openssl", ["version"]).status !== 0) {
    return {
      kind: "no_openssl",
      message: "openssl is not installed; it makes the certificates for delivery",
    };
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Made aside and moved, so that nobody ever reads half a file.
  const work = mkdtempSync(join(resolve(folder), "new-"));
  try {
    writeFileSync(join(work, "openssl.cnf"), configText, { mode: 0o600 });
    const place = { work, folder: resolve(folder) };
    if (!isGood(ca, ca)) makeCa(place);
    for (const leaf of isGood(ca, ca) ? missing : leaves) makeLeaf(place, leaf);
    return ready;
  } catch (error) {
    return { kind: "failed", message: `The certificates could not be made: ${(error as Error).message}` };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const leaves = ["server", "client"] as const;
type Leaf = typeof leaves[number];

// A file of our own: the system's differ, and some are missing.
const configText = `
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[ca]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
authorityKeyIdentifier = keyid
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
subjectAltName = DNS:${devClientName}
authorityKeyIdentifier = keyid
`;

interface Pair {
  readonly certificate: X509Certificate;
  readonly fitsKey: boolean;
}

function readPair(certFile: string, keyFile: string): Pair | null {
  try {
    const certificate = new X509Certificate(readFileSync(certFile));
    return { certificate, fitsKey: certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile))) };
  } catch {
    return null;
  }
}

function isGood(pair: Pair | null, ca: Pair | null): boolean {
  if (pair === null || ca === null || !pair.fitsKey) return false;
  const leftMs = Date.parse(pair.certificate.validTo) - Date.now();
  return leftMs > renewBeforeMs && pair.certificate.verify(ca.certificate.publicKey);
}

/** The folder in which files are made, and the one they move to. */
interface Place {
  readonly work: string;
  readonly folder: string;
}

function makeCa({ work, folder }: Place): void {
  makeKey(work, "ca");
  openssl(work, [
    ...["req", "-x509", "-new", "-key", "ca.key", "-out", "ca.pem", "-config", "openssl.cnf"],
    ...["-extensions", "ca", "-subj", "/CN=Lead Intake development CA", "-days", String(caDays)],
    ...["-set_serial", serial()],
  ]);
  moveOut({ work, folder }, "ca");
}

function makeLeaf({ work, folder }: Place, leaf: Leaf): void {
  makeKey(work, leaf);
  const name = leaf === "server" ? "localhost" : devClientName;
  openssl(work, [
    ...["req", "-new", "-key", `${leaf}.key`, "-out", `${leaf}.csr`, "-config", "openssl.cnf"],
    ...["-subj", `/CN=${name}`],
  ]);
  openssl(work, [
    ...["x509", "-req", "-in", `${leaf}.csr`, "-out", `${leaf}.pem`, "-days", String(leafDays)],
    ...["-CA", join(folder, "ca.pem"), "-CAkey", join(folder, "ca.key"), "-set_serial", serial()],
    ...["-extfile", "openssl.cnf", "-extensions", leaf],
  ]);
  moveOut({ work, folder }, leaf);
}

function makeKey(work: string, name: string): void {
  openssl(work, ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`]);
}

function moveOut({ work, folder }: Place, name: string): void {
  for (const file of [`${name}.key`, `${name}.pem`]) renameSync(join(work, file), join(folder, file));
}

function serial(): string {
  // Positive: the first bit is 0.
  return `0x1${randomBytes(15).toString("hex")}`;
}

function openssl(cwd: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync("sh", ["-c", 'umask 077 && exec openssl "$@"', "sh", ...args], {
    cwd,
    encoding: "utf8",
  });
  if (status === 0) return;
  const lastLine = (stderr ?? "").trim().split("\n").at(-1);
  throw new Error(`openssl ${args[0]}: ${error?.message ?? lastLine}`);
}
