/**
 * Which clients a listener serves that asks for client certificates. The TLS layer checks a certificate once, at the
 * handshake; a connection lives on for as long as its client likes.
 *
 * @module
 */

import type { PeerCertificate, TLSSocket } from "node:tls";

/** Certificates that are known of one set of authorities; those of a tier's own have issued a few. */
const knownMax = 1_000;

/** What an {@linkcode Admission} is told. */
export interface AdmissionOptions {
  /** Says why the bearer of a certificate is refused; `null` lets it in. */
  readonly admit: (certificate: PeerCertificate) => string | null;
  /** The wall clock, by which certificates expire. */
  readonly nowMs: () => number;
}

/** What is known of a connection that was let in. */
interface Pass {
  readonly expiresAtMs: number;
  /** The authorities that let it in. */
  readonly generation: number;
}

/** The connections that were let in, and whether they still would be. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #passes = new WeakMap<object, Pass>();
  /** Fingerprints of certificates that were seen in a whole handshake under the present authorities. */
  readonly #known = new Set<string>();
  #generation = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Lets in a connection whose handshake is over, or says why not. */
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

  /** Whether the certificate of a connection would still let it in. */
  isValid(socket: object): boolean {
    const pass = this.#passes.get(socket);
    return pass !== undefined && pass.generation === this.#generation &&
      this.#options.nowMs() < pass.expiresAtMs;
  }

  /** Other authorities count from now on: nobody is let in by the ones before. */
  renew(): void {
    this.#generation += 1;
    this.#known.clear();
  }

  #faultOf(socket: TLSSocket, certificate: PeerCertificate): string | null {
    // The TLS layer has refused those already; what it says is not taken on trust alone.
    if (!socket.authorized) return "not_authorized";
    // A resumed session is let in by the certificate of an earlier handshake. Its client forgets the session and comes
    // again with a whole one.
    if (socket.isSessionReused() && !this.#known.has(certificate.fingerprint256)) return "resumed";
    return this.#options.admit(certificate);
  }
}

/** The names of a certificate: the common name, and the DNS names and URIs beside it. */
export function namesOf(certificate: PeerCertificate): string[] {
  // A value that holds a comma or a quote comes as a JSON string, and then matches no name.
  const alternative = (certificate.subjectaltname ?? "").split(", ")
    .flatMap((entry) => /^(?:DNS|URI):([^"]+)$/.exec(entry)?.[1] ?? []);
  const common: unknown = certificate.subject.CN;
  return typeof common === "string" ? [common, ...alternative] : alternative;
}
