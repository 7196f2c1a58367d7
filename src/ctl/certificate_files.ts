/** Certificates and keys as files, PEM: reads a pair, and replaces files so that no reader sees half of one. */

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { chmodSync, chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Credentials } from "./x509.ts";

/** The two ends of mutual TLS. */
export const leaves = ["server", "client"] as const;

/** One of {@linkcode leaves}. */
export type Leaf = typeof leaves[number];

/** Where a certificate and its key are. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate that was read, and whether the key beside it is its own. */
export interface Pair extends Credentials {
  readonly certificate: X509Certificate;
  readonly fitsKey: boolean;
}

/** Reads a certificate and its key; `null` when one of them is missing or broken. */
export function readPair({ certFile, keyFile }: CertificateFiles): Pair | null {
  try {
    const [cert, key] = [readFileSync(certFile, "utf8"), readFileSync(keyFile, "utf8")];
    const certificate = new X509Certificate(cert);
    return { cert, key, certificate, fitsKey: certificate.checkPrivateKey(createPrivateKey(key)) };
  } catch {
    return null;
  }
}

/** A file to write whole. */
interface NewFile {
  readonly file: string;
  readonly text: string;
  /** For a file that does not exist yet; an existing one keeps its owner and mode. */
  readonly mode: number;
}

/** A pair as {@linkcode replaceFiles} takes it: a key for its owner alone, a certificate for all. */
export function filesOf({ certFile, keyFile }: CertificateFiles, { cert, key }: Credentials): NewFile[] {
  return [{ file: keyFile, text: key, mode: 0o600 }, { file: certFile, text: cert, mode: 0o644 }];
}

/**
 * Writes each file beside its place and, once all are written, renames them into it.
 *
 * @throws what the file system throws; no file has changed then, unless a rename failed
 */
export function replaceFiles(files: readonly NewFile[]): void {
  const written: (readonly [from: string, to: string])[] = [];
  try {
    for (const { file, text, mode } of files) {
      const aside = `${file}.new-${randomBytes(6).toString("hex")}`;
      written.push([aside, file]);
      writeFileSync(aside, text, { mode: 0o600, flag: "wx" });
      const before = statSync(file, { throwIfNoEntry: false });
      if (before !== undefined) {
        const { uid, gid } = statSync(aside);
        if (before.uid !== uid || before.gid !== gid) chownSync(aside, before.uid, before.gid);
      }
      chmodSync(aside, before === undefined ? mode : before.mode & 0o777);
    }
    for (const [from, to] of written) renameSync(from, to);
  } finally {
    for (const [from] of written) rmSync(from, { force: true });
  }
}
