/** Reads PEM certificates with their keys, and replaces the files atomically. */

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { chmodSync, chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Credentials } from "./x509.ts";

/** The certificates that the authority signs: one for each end of mutual TLS. */
export const leaves = ["server", "client"] as const;

export type Leaf = typeof leaves[number];

/** The paths of a certificate and its key. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate and its key as read, and whether the two match. */
export interface Pair extends Credentials {
  readonly certificate: X509Certificate;
  readonly isKeyMatching: boolean;
}

/** Reads a certificate and its key; returns `null` if either is unreadable or malformed. */
export function readPair({ certFile, keyFile }: CertificateFiles): Pair | null {
  try {
    const [cert, key] = [readFileSync(certFile, "utf8"), readFileSync(keyFile, "utf8")];
    const certificate = new X509Certificate(cert);
    return { cert, key, certificate, isKeyMatching: certificate.checkPrivateKey(createPrivateKey(key)) };
  } catch {
    return null;
  }
}

interface NewFile {
  readonly file: string;
  readonly text: string;
  /** The mode of a new file; an existing file keeps its owner and mode, except that a key is closed to other users. */
  readonly mode: number;
}

/** Returns the files to write for a pair: the key is readable only by its owner, the certificate by all users. */
export function filesOf({ certFile, keyFile }: CertificateFiles, { cert, key }: Credentials): NewFile[] {
  return [{ file: keyFile, text: key, mode: 0o600 }, { file: certFile, text: cert, mode: 0o644 }];
}

/**
 * Writes each file under a temporary name in the same folder; once all are written, renames them.
 *
 * @throws what the file system throws; unless a rename failed, no file has changed
 */
export function replaceFiles(files: readonly NewFile[]): void {
  const written: (readonly [from: string, to: string])[] = [];
  try {
    for (const { file, text, mode } of files) {
      const temporary = `${file}.new-${randomBytes(6).toString("hex")}`;
      written.push([temporary, file]);
      writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
      const before = statSync(file, { throwIfNoEntry: false });
      if (before !== undefined) {
        const { uid, gid } = statSync(temporary);
        if (before.uid !== uid || before.gid !== gid) chownSync(temporary, before.uid, before.gid);
      }
      chmodSync(temporary, before === undefined ? mode : before.mode & (mode | 0o770));
    }
    for (const [from, to] of written) renameSync(from, to);
  } finally {
    for (const [from] of written) rmSync(from, { force: true });
  }
}
