/**
 * Which clients a listener serves that asks for client certificates. The TLS layer checks a certificate once, at the
 * handshake; a connection lives on for as long as its client likes.
 */

import type { PeerCertificate, TLSSocket } from "node:tls";

/** Bounds the remembered certificates; a private authority issues few. */
const knownMax = 1_000;

/** Options of {@linkcode Admission}. */
export interface AdmissionOptions {
  /** Returns the reason to refuse a certificate, or `null`. */
  readonly admit: (certificate: PeerCertificate) => string | null;
  /** The wall clock, for expiry. */
  readonly nowMs: () => number;
}

interface Pass {
  readonly expiresAtMs: number;
  /** The version of the authorities at admission. */
  readonly generation: number;
}

/** Admits connections by client certificate and revalidates them. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #passes = new WeakMap<object, Pass>();
  /** Fingerprints seen in a full handshake under the current authorities. */
  readonly #known = new Set<string>();
  #generation = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Admits a connection after its handshake; returns the reason otherwise. */
  admit(socket: TLSSocket): string | null {
    const certificate = socket.getPeerCertificate();
    const fault = this.#faultOf(socket, certificate);
    if (fault !== null) return fault;
    if (this.#known.size < knownMax) this.#known.add(certificate.fingerprint256);
    this.#passes.set(socket, {
      expiresAtMs: Date.parse(certificate.valid_to),
      generation: this.#generation,
    });
    return null;
  }

  /** Whether the connection's certificate is still valid. */
  isValid(socket: object): boolean {
    const pass = this.#passes.get(socket);
    return pass !== undefined && pass.generation === this.#generation &&
      this.#options.nowMs() < pass.expiresAtMs;
  }

  /** Switches to new authorities; all earlier admissions end. */
  renew(): void {
    this.#generation += 1;
    this.#known.clear();
  }

  #faultOf(socket: TLSSocket, certificate: PeerCertificate): string | null {
    // Defense in depth: the TLS layer refuses these already.
    if (!socket.authorized) return "not_authorized";
    // A resumed session relies on an earlier handshake; the client retries with a full one.
    if (socket.isSessionReused() && !this.#known.has(certificate.fingerprint256)) return "resumed";
    return this.#options.admit(certificate);
  }
}

/** The common name, DNS names and URIs of a certificate. */
export function namesOf(certificate: PeerCertificate): string[] {
  // A value with a comma or quote arrives as a JSON string and matches no name.
  const alternative = (certificate.subjectaltname ?? "").split(", ")
    .flatMap((entry) => /^(?:DNS|URI):([^"]+)$/.exec(entry)?.[1] ?? []);
  const common: unknown = certificate.subject.CN;
  return typeof common === "string" ? [common, ...alternative] : alternative;
}
