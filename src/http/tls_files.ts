/** Loads TLS certificate, key and CA files, and reloads them when they change. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

/**
 * The reason why clients may refuse a certificate, now or soon. `chain_incomplete`: an intermediate certificate is
 * missing. `chain_out_of_order`: a certificate was not issued by the next one.
 */
type CertificateProblem =
  | "not_yet_valid"
  | "expired"
  | "expires_soon"
  | "chain_incomplete"
  | "chain_out_of_order";

const dayMs = 86_400_000;
/** Chosen: two weeks, because automatic renewal has failed for two weeks by then; at most a quarter of the lifetime. */
const expirySoonMs = 14 * dayMs;

/** Parses the certificates in a PEM text, in its order, which starts with the leaf. */
export function parseChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function isExpired([first]: readonly X509Certificate[], nowMs: number): boolean {
  return first !== undefined && nowMs >= Date.parse(first.validTo);
}

function validityProblem({ validFrom, validTo }: X509Certificate, nowMs: number): CertificateProblem | null {
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  if (nowMs < fromMs) return "not_yet_valid";
  if (nowMs >= toMs) return "expired";
  return toMs - nowMs < Math.min(expirySoonMs, (toMs - fromMs) / 4) ? "expires_soon" : null;
}

/** Returns a chain's problem other than its validity dates, or `null`. */
export function chainProblem(chain: readonly X509Certificate[]): CertificateProblem | null {
  const isInOrder = chain.every((certificate, index) => {
    const next = chain[index + 1];
    return next === undefined || certificate.checkIssued(next);
  });
  if (!isInOrder) return "chain_out_of_order";
  // A public CA signs with an intermediate, which the leaf names; clients of a private CA trust the issuer itself.
  const [only, ...others] = chain;
  const isIncomplete = others.length === 0 && only?.infoAccess?.includes("CA Issuers") === true;
  return isIncomplete ? "chain_incomplete" : null;
}

export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
  /** The trusted CAs' file. Without it, a client trusts the system's CAs, and a server requires no client certificate. */
  readonly caFile?: string;
}

/** The files' contents, as options of a TLS server or client. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
  readonly minVersion: "TLSv1.2";
}

/** An event that concerns the TLS files labeled `files`. */
export type TlsObservation =
  /** The earliest expiry of a certificate in use; reported at startup and after each change. */
  | { readonly kind: "certificate_in_use"; readonly files: string; readonly expiresAtMs: number }
  /** The new files are in use. */
  | { readonly kind: "certificate_renewed"; readonly files: string; readonly isCaChanged: boolean }
  /** The changed files cannot be read or used, so the previous ones stay in use; reported once per change. */
  | { readonly kind: "certificate_refused"; readonly files: string; readonly error: unknown }
  /** Clients may refuse the certificate in use; reported at startup, after each change, and daily. */
  | {
    readonly kind: "certificate_warning";
    readonly files: string;
    readonly problem: CertificateProblem;
    readonly expiresAt: Date;
  };

export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #name: string;
  #context: TlsContext;
  /** The contents that were refused (`""` if unreadable), or `null` if the files are in use. */
  #refused: string | null = null;
  #lastWarning: { readonly cert: string | null; readonly atMs: number } = { cert: null, atMs: 0 };

  private constructor(paths: TlsPaths, name: string, context: TlsContext) {
    this.#paths = paths;
    this.#name = name;
    this.#context = context;
  }

  /** Throws if a file cannot be read or is invalid, or the certificate and the key do not match. */
  static async load(paths: TlsPaths, name: string): Promise<TlsFiles> {
    return new TlsFiles(paths, name, requireValid(await read(paths)));
  }

  /** A new object after each renewal. */
  get context(): TlsContext {
    return this.#context;
  }

  /**
   * Checks for changes every `everyMs` until the returned function is called, and reports problems. Compares contents,
   * because `stat` can miss a replaced symbolic link or a second write within one clock tick.
   */
  watch({ everyMs, observe }: {
    everyMs: number;
    observe: (observation: TlsObservation) => void;
  }): () => void {
    let isBusy = false;
    const check = async () => {
      if (isBusy) return;
      isBusy = true;
      const wasRefused = this.#refused !== null;
      const observation = await this.#renew();
      isBusy = false;
      // The previous contents may also have been restored.
      const isRestored = wasRefused && this.#refused === null;
      if (observation?.kind === "certificate_renewed" || isRestored) reportInUse();
      this.#warn(observe);
      if (observation !== null) observe(observation);
    };
    const reportInUse = () =>
      observe({ kind: "certificate_in_use", files: this.#name, expiresAtMs: firstExpiryMs(this.#context) });
    this.#warn(observe);
    reportInUse();
    const timer = setInterval(check, everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  #warn(observe: (observation: TlsObservation) => void): void {
    const nowMs = Date.now();
    const { cert } = this.#context;
    if (cert === this.#lastWarning.cert && nowMs - this.#lastWarning.atMs < dayMs) return;
    this.#lastWarning = { cert, atMs: nowMs };
    const chain = parseChain(cert);
    const [first] = chain;
    if (first === undefined) return;
    const expiresAt = new Date(first.validTo);
    for (const problem of [validityProblem(first, nowMs), chainProblem(chain)]) {
      if (problem !== null) observe({ kind: "certificate_warning", files: this.#name, problem, expiresAt });
    }
  }

  async #renew(): Promise<TlsObservation | null> {
    let contents = "";
    try {
      const next = await read(this.#paths);
      contents = JSON.stringify(next);
      if (contents === this.#refused) return null;
      this.#refused = null;
      if (contents === JSON.stringify(this.#context)) return null;
      const isCaChanged = requireValid(next).ca !== this.#context.ca;
      const [nowMs, previous] = [Date.now(), parseChain(this.#context.cert)];
      if (isExpired(parseChain(next.cert), nowMs) && !isExpired(previous, nowMs)) {
        throw new Error("The new certificate has expired, but the previous one has not");
      }
      this.#context = next;
      return { kind: "certificate_renewed", files: this.#name, isCaChanged };
    } catch (error) {
      if (contents === this.#refused) return null;
      this.#refused = contents;
      return { kind: "certificate_refused", files: this.#name, error };
    }
  }
}

async function read({ certFile, keyFile, caFile }: TlsPaths): Promise<TlsContext> {
  const text = (file: string) => readFile(file, "utf8");
  const [cert, key] = await Promise.all([text(certFile), text(keyFile)]);
  const authorities = caFile === undefined ? {} : { ca: await text(caFile) };
  return { cert, key, ...authorities, minVersion: "TLSv1.2" };
}

/** Returns the earliest expiry of any certificate, in milliseconds since 1970. */
function firstExpiryMs({ cert, ca = "" }: TlsContext): number {
  return Math.min(...parseChain(`${cert}\n${ca}`).map(({ validTo }) => Date.parse(validTo)));
}

function requireValid(context: TlsContext): TlsContext {
  const { cert, key, ca } = context;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The certificate and the key do not match");
  }
  // With an empty or malformed CA file, TLS would refuse every client without reporting an error.
  if (ca !== undefined) new X509Certificate(ca);
  // Throws now for an unusable context, rather than on each connection.
  createSecureContext(context);
  return context;
}
