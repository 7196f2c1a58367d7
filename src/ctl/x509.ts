/**
 * Issues X.509 certificates. Node's crypto generates the keys and signatures; this module encodes the DER structure.
 *
 * Chosen: no `openssl`, because a minimal Debian lacks it; no package, because @peculiar/x509 brings eleven others.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from "node:crypto";
import { addressBytes } from "#src/http/addresses.ts";

/** A certificate and its private key, PEM. */
export interface Credentials {
  readonly cert: string;
  readonly key: string;
}

type CertificateUse = "authority" | "server" | "client";

export interface CertificateOptions {
  /** The subject's common name, at most 64 characters. */
  readonly name: string;
  readonly use: CertificateUse;
  /** Days of validity from now; a negative number issues an expired certificate. */
  readonly days: number;
  /** The subject's alternative names: DNS names, IP addresses, URIs. */
  readonly names?: readonly string[];
  /** The authority that signs the certificate; without one, the certificate is self-signed. */
  readonly issuer?: Credentials;
  /** ECDSA with P-256 (the default), or RSA with 2,048 bits. */
  readonly keyType?: "ecdsa" | "rsa" | undefined;
  readonly nowMs?: number;
}

const tags = { boolean: 1, integer: 2, bits: 3, octets: 4, null: 5, oid: 6, utf8: 12, sequence: 48, set: 49 };
const dayMs = 86_400_000;

/** Generates a key and issues a certificate for it. @throws {RangeError} for an unsupported issuer or size */
export function issueCertificate(options: CertificateOptions): Credentials {
  const { name, days, issuer, keyType = "ecdsa", nowMs = Date.now() } = options;
  const { publicKey, privateKey } = keyType === "rsa"
    ? generateKeyPairSync("rsa", { modulusLength: 2_048 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signingKey = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  const spki = publicKey.export({ type: "spki", format: "der" });
  const issuerSpki = issuer === undefined
    ? spki
    : createPublicKey(issuer.cert).export({ type: "spki", format: "der" });
  const { asymmetricKeyType } = signingKey;
  if (asymmetricKeyType !== "rsa" && asymmetricKeyType !== "ec") {
    throw new RangeError(`An issuer's key must be RSA or ECDSA, not ${asymmetricKeyType}`);
  }
  const subject = sequence(der(tags.set, sequence(oid("2.5.4.3"), der(tags.utf8, Buffer.from(name)))));
  const algorithm = asymmetricKeyType === "rsa"
    ? sequence(oid("1.2.840.113549.1.1.11"), der(tags.null))
    : sequence(oid("1.2.840.10045.4.3.2"));
  const tbs = sequence(
    der(0xa0, der(tags.integer, Buffer.of(2))), // version 3
    // The leading 1 makes the serial number positive without padding.
    der(tags.integer, Buffer.of(1), randomBytes(15)),
    algorithm,
    issuer === undefined ? subject : subjectOf(issuer.cert),
    sequence(time(nowMs), time(nowMs + days * dayMs)),
    subject,
    spki,
    der(0xa3, sequence(...extensions(options, { own: keyId(spki), issuer: keyId(issuerSpki) }))),
  );
  const cert = sequence(tbs, algorithm, der(tags.bits, Buffer.of(0), sign("sha256", tbs, signingKey)));
  return { cert: toPem(cert), key: String(privateKey.export({ type: "pkcs8", format: "pem" })) };
}

function extensions(
  { use, names = [] }: CertificateOptions,
  keyIds: { own: Buffer; issuer: Buffer },
): Buffer[] {
  const isAuthority = use === "authority";
  const constraints = [der(tags.boolean, Buffer.of(0xff)), der(tags.integer, Buffer.of(0))];
  const alternatives = names.map((name) => {
    const address = addressBytes(name);
    return address === null ? der(name.includes(":") ? 0x86 : 0x82, Buffer.from(name)) : der(0x87, address);
  });
  return [
    extension("2.5.29.19", sequence(...isAuthority ? constraints : []), { critical: true }),
    // keyCertSign and cRLSign, or digitalSignature; the first byte counts the unused bits.
    extension("2.5.29.15", der(tags.bits, isAuthority ? Buffer.of(1, 0x06) : Buffer.of(7, 0x80)), {
      critical: true,
    }),
    extension("2.5.29.14", der(tags.octets, keyIds.own)),
    extension("2.5.29.35", sequence(der(0x80, keyIds.issuer))),
    ...isAuthority
      ? []
      : [extension("2.5.29.37", sequence(oid(`1.3.6.1.5.5.7.3.${use === "server" ? 1 : 2}`)))],
    ...alternatives.length === 0 ? [] : [extension("2.5.29.17", sequence(...alternatives))],
  ];
}

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(
    oid(id),
    ...critical ? [der(tags.boolean, Buffer.of(0xff))] : [],
    der(tags.octets, value),
  );
}

/** Returns the SHA-1 digest of the public key's bit string, without the count of unused bits. Source: RFC 5280, 4.2.1.2. */
function keyId(spki: Buffer): Buffer {
  const [, bits = spki] = elements(contentOf(spki));
  return createHash("sha1").update(contentOf(bits).subarray(1)).digest();
}

/** Returns the encoded subject, which follows version, serial, algorithm, issuer and validity. */
function subjectOf(pem: string): Buffer {
  const [tbs = Buffer.alloc(0)] = elements(contentOf(fromPem(pem)));
  const [, , , , , subject] = elements(contentOf(tbs));
  if (subject === undefined) throw new RangeError("The issuer's certificate is not X.509 v3");
  return subject;
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length > 0xffff) throw new RangeError("The certificate would be longer than 65,535 bytes");
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(tags.sequence, ...parts);

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const septets = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) septets.unshift(left & 0x7f | 0x80);
    return septets;
  });
  return der(tags.oid, Buffer.from(bytes));
}

/** Encodes a time: two-digit years until 2049, four-digit years after that. Source: RFC 5280, 4.1.2.5. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return digits < "2050" ? der(23, Buffer.from(digits.slice(2))) : der(24, Buffer.from(digits));
}

/** Splits `bytes` into consecutive elements, each with its header. */
function elements(bytes: Buffer): Buffer[] {
  const parsed: Buffer[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const size = sizeOf(rest);
    parsed.push(rest.subarray(0, size.header + size.content));
    rest = rest.subarray(size.header + size.content);
  }
  return parsed;
}

function contentOf(element: Buffer): Buffer {
  return element.subarray(sizeOf(element).header);
}

function sizeOf(element: Buffer): { readonly header: number; readonly content: number } {
  const [, first = 0] = element;
  if (first < 128) return { header: 2, content: first };
  const bytes = first & 0x7f;
  return { header: 2 + bytes, content: element.readUIntBE(2, bytes) };
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function fromPem(pem: string): Buffer {
  return Buffer.from(/-----BEGIN CERTIFICATE-----([^-]+)-/.exec(pem)?.[1] ?? "", "base64");
}
