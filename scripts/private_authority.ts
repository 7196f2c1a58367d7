/**
 * A private certificate authority and what it signs: the server's and the client's certificate of the actions tier. It
 * serves `npm start` and `ctl certificates`. `openssl` makes the files, because Node signs no certificates.
 *
 * Everything is made in a folder aside and moved, so that nobody ever reads half a file, and a fault leaves what was there.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isIP } from "node:net";
import { dirname, join } from "node:path";

/** What the certificates are for: the two ends of mutual TLS. */
export const leaves = ["server", "client"] as const;

/** One of {@linkcode leaves}. */
export type Leaf = typeof leaves[number];

/** A certificate that was read, and whether the key beside it is its own. */
export interface Pair {
  readonly certificate: X509Certificate;
  readonly fitsKey: boolean;
}

/** Reads a certificate and its key, PEM; `null` when one of them is missing or broken. */
export function readPair(certFile: string, keyFile: string): Pair | null {
  try {
    const certificate = new X509Certificate(readFileSync(certFile));
    return { certificate, fitsKey: certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile))) };
  } catch {
    return null;
  }
}

/** Whether `openssl` can be run. */
export function hasOpenssl(): boolean {
  return spawnSync("openssl", ["version"]).status === 0;
}

/** Where an authority's files are, PEM. */
export interface AuthorityFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What is being made, in a folder aside. */
export interface Workshop {
  /** Makes an authority; `name` is its common name. The files are where {@linkcode AuthorityFiles} says until they move. */
  makeAuthority(options: { readonly name: string; readonly days: number }): AuthorityFiles;
  /** Makes a certificate and its key. The first of `names`, DNS names and addresses, is the common name too. */
  makeLeaf(leaf: Leaf, options: LeafOptions): void;
  /**
   * Moves a file into its place. What stood there gives it its owner and mode, so that the process that reads it still
   * can; without one it gets `mode`.
   */
  moveTo(file: string, name: string, mode: number): void;
}

/** What a certificate says. */
export interface LeafOptions {
  readonly names: readonly string[];
  readonly days: number;
  /** Who signs it. */
  readonly authority: AuthorityFiles;
}

/**
 * Runs `work` with a folder aside within `folder`, which must exist, and removes it.
 *
 * @throws {Error} with the last line of openssl's complaint
 */
export function inWorkshop<T>(folder: string, work: (workshop: Workshop) => T): T {
  const aside = mkdtempSync(join(folder, "new-"));
  try {
    return work({
      makeAuthority: (options) => makeAuthority(aside, options),
      makeLeaf: (leaf, options) => makeLeaf(aside, leaf, options),
      moveTo: (file, name, mode) => move(join(aside, name), file, mode),
    });
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function makeAuthority(
  aside: string,
  { name, days }: { readonly name: string; readonly days: number },
): AuthorityFiles {
  makeKey(aside, "ca");
  configure(aside, authorityExtensions);
  openssl(aside, [
    ...["req", "-x509", "-new", "-key", "ca.key", "-out", "ca.pem", "-config", "openssl.cnf"],
    ...["-extensions", "made", "-subj", `/CN=${name}`, "-days", String(days), "-set_serial", serial()],
  ]);
  return { certFile: join(aside, "ca.pem"), keyFile: join(aside, "ca.key") };
}

function makeLeaf(aside: string, leaf: Leaf, { names, days, authority }: LeafOptions): void {
  makeKey(aside, leaf);
  configure(aside, leafExtensions(leaf, names));
  openssl(aside, [
    ...["req", "-new", "-key", `${leaf}.key`, "-out", `${leaf}.csr`, "-config", "openssl.cnf"],
    ...["-subj", `/CN=${names[0]}`],
  ]);
  openssl(aside, [
    ...["x509", "-req", "-in", `${leaf}.csr`, "-out", `${leaf}.pem`, "-days", String(days)],
    ...["-CA", authority.certFile, "-CAkey", authority.keyFile, "-set_serial", serial()],
    ...["-extfile", "openssl.cnf", "-extensions", "made"],
  ]);
}

const authorityExtensions = `
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
`;

function leafExtensions(leaf: Leaf, names: readonly string[]): string {
  return `
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = ${leaf}Auth
subjectAltName = ${names.map((name) => `${isIP(name) === 0 ? "DNS" : "IP"}:${name}`).join(", ")}
authorityKeyIdentifier = keyid
`;
}

/** A file of our own: the system's differ, and some are missing. */
function configure(aside: string, extensions: string): void {
  const text = `[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = unused\n[made]${extensions}`;
  writeFileSync(join(aside, "openssl.cnf"), text, { mode: 0o600 });
}

function makeKey(aside: string, name: string): void {
  openssl(aside, ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`]);
}

function move(made: string, file: string, mode: number): void {
  try {
    place(made, file, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    // On another file system, such as a stick's, it is copied beside its place first.
    const aside = mkdtempSync(join(dirname(file), "new-"));
    try {
      const copy = join(aside, "copy");
      copyFileSync(made, copy);
      place(copy, file, mode);
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  }
}

function place(made: string, file: string, mode: number): void {
  const before = statSync(file, { throwIfNoEntry: false });
  chmodSync(made, before === undefined ? mode : before.mode & 0o777);
  if (before !== undefined) {
    const { uid, gid } = statSync(made);
    if (before.uid !== uid || before.gid !== gid) chownSync(made, before.uid, before.gid);
  }
  renameSync(made, file);
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
