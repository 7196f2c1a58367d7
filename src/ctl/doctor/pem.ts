/**
 * Files of certificates, PEM, and who has signed what.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

/**
 * The certificates of a file, in their order.
 *
 * @throws {Error} when it cannot be read, or has none
 */
export function readAll(file: string): X509Certificate[] {
  const blocks = readFileSync(file, "utf8").match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  );
  if (blocks === null) throw new Error("no certificate is in it");
  return blocks.map((pem) => new X509Certificate(pem));
}

/** Whether the one has signed the other. */
export function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

let roots: X509Certificate[] | undefined;
/** The authorities that clients come with, as Node does. */
export function publicRoots(): readonly X509Certificate[] {
  return roots ??= rootCertificates.map((pem) => new X509Certificate(pem));
}

/** Why a file cannot be used, in a word or a line. */
export function reason(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code === undefined || code.startsWith("ERR_OSSL") ? message.split("\n")[0] ?? "" : code;
}
