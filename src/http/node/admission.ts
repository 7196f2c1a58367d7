/** Checks client certificates again before each request, because a connection can outlive its certificate or CA. */

import type { PeerCertificate, TLSSocket } from "node:tls";

/** The maximum number of remembered certificates; a private CA issues few. */
const knownMax = 1_000;

interface AdmissionOptions {
  /** Returns the reason to refuse a certificate, or `null`. */
  readonly admit: (certificate: PeerCertificate) => string | null;
  /** The wall clock. */
  readonly nowMs: () => number;
}

interface Admitted {
  readonly expiresAtMs: number;
  /** The version of the trusted CAs at the handshake. */
  readonly caVersion: number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #admitted = new WeakMap<object, Admitted>();
  /** The fingerprints of certificates that passed a full handshake with the current CAs. */
  readonly #known = new Set<string>();
  #caVersion = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Admits a connection after its handshake; returns the reason to refuse it, or `null`. */
  admit(socket: TLSSocket): string | null {
    const certificate = socket.getPeerCertificate();
    const reason = this.#reasonToRefuse(socket, certificate);
    if (reason !== null) return reason;
    if (this.#known.size < knownMax) this.#known.add(certificate.fingerprint256);
    this.#admitted.set(socket, {
      expiresAtMs: Date.parse(certificate.valid_to),
      caVersion: this.#caVersion,
    });
    return null;
  }

  /** Whether the connection was admitted under the current CAs and its certificate has not expired. */
  isValid(socket: object): boolean {
    const admitted = this.#admitted.get(socket);
    return admitted !== undefined && admitted.caVersion === this.#caVersion &&
      this.#options.nowMs() < admitted.expiresAtMs;
  }

  /** Invalidates all connections; call it when the trusted CAs change. */
  revokeAll(): void {
    this.#caVersion += 1;
    this.#known.clear();
  }

  #reasonToRefuse(socket: TLSSocket, certificate: PeerCertificate): string | null {
    // Defense in depth: TLS refuses such a client already.
    if (!socket.authorized) return "not_authorized";
    // A resumed session skips the certificate check; the client retries with a full handshake.
    if (socket.isSessionReused() && !this.#known.has(certificate.fingerprint256)) return "resumed";
    return this.#options.admit(certificate);
  }
}

/** Returns the common name, DNS names and URIs in a certificate. */
export function namesOf(certificate: PeerCertificate): string[] {
  // Node quotes a value that contains a comma or a quotation mark; such a value is skipped.
  const alternative = (certificate.subjectaltname ?? "").split(", ")
    .flatMap((entry) => /^(?:DNS|URI):([^"]+)$/.exec(entry)?.[1] ?? []);
  const common: unknown = certificate.subject.CN;
  return typeof common === "string" ? [common, ...alternative] : alternative;
}
