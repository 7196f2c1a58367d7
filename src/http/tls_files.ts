/** TLS certificate, key and authority files, reloaded when they change. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

/** A doubt about a certificate chain. */
interface TlsDoubt {
  /**
   * `chain_incomplete`: the last one's issuer is missing and is no root. `chain_out_of_order`: one is not signed by the
   * next.
   */
  readonly doubt: "not_yet_valid" | "expired" | "expires_soon" | "chain_incomplete" | "chain_out_of_order";
  /** Of the owner's certificate. */
  readonly expiresAt: Date;
}

const dayMs = 86_400_000;
/**
 * Chosen: two weeks, by when the renewal of a 90-day certificate has been retried as long; a quarter of its life if
 * less.
 */
const soonMs = 14 * dayMs;

/** The certificates of a PEM text, the owner's first. */
export function chainOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Whether the owner's certificate has expired. */
function isExpired([first]: readonly X509Certificate[], nowMs: number): boolean {
  return first !== undefined && nowMs >= Date.parse(first.validTo);
}

function doubtsOf(chain: readonly X509Certificate[], nowMs: number): TlsDoubt[] {
  const [first] = chain;
  if (first === undefined) return [];
  const expiresAt = new Date(first.validTo);
  const doubts = [timeDoubt(first, nowMs), chainDoubt(chain)];
  return doubts.flatMap((doubt) => doubt === null ? [] : [{ doubt, expiresAt }]);
}

function timeDoubt({ validFrom, validTo }: X509Certificate, nowMs: number): TlsDoubt["doubt"] | null {
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  if (nowMs < fromMs) return "not_yet_valid";
  if (nowMs >= toMs) return "expired";
  return toMs - nowMs < Math.min(soonMs, (toMs - fromMs) / 4) ? "expires_soon" : null;
}

/** A time-independent reason for clients to refuse a chain, or `null`. */
export function chainDoubt(chain: readonly X509Certificate[]): TlsDoubt["doubt"] | null {
  const isInOrder = chain.every((one, index) => {
    const next = chain[index + 1];
    return next === undefined || one.checkIssued(next);
  });
  if (!isInOrder) return "chain_out_of_order";
  // Public authorities name their issuer and do not sign with a root; clients of private ones know it.
  const [only, ...others] = chain;
  const isIncomplete = others.length === 0 && only?.infoAccess?.includes("CA Issuers") === true;
  return isIncomplete ? "chain_incomplete" : null;
}

/** PEM files. */
export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
  /** Authorities; without it, a client trusts the system's and a server requires no certificate. */
  readonly caFile?: string;
}

/** The files' contents for a TLS server or client. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
  readonly minVersion: "TLSv1.2";
}

/** Observations of the files named `files`. */
export type TlsObservation =
  /** The certificate in use, when watching starts and after each change. */
  | { readonly kind: "certificate_in_use"; readonly files: string; readonly endsAtMs: number }
  /** New contents are in use; `isCaNew` if the authorities changed. */
  | { readonly kind: "certificate_renewed"; readonly files: string; readonly isCaNew: boolean }
  /** Unreadable or mismatched; the previous contents stay. Once per change. */
  | { readonly kind: "certificate_refused"; readonly files: string; readonly error: unknown }
  /** Clients may refuse the certificate in use. When loaded, then daily. */
  | { readonly kind: "certificate_doubtful"; readonly files: string } & TlsDoubt;

/** Renewable TLS files. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #name: string;
  #context: TlsContext;
  /** The last refused contents; empty if unreadable. */
  #refused: string | null = null;
  /** The last check for doubts. */
  #doubted: { readonly cert: string | null; readonly atMs: number } = { cert: null, atMs: 0 };

  private constructor(paths: TlsPaths, name: string, context: TlsContext) {
    this.#paths = paths;
    this.#name = name;
    this.#context = context;
  }

  /**
   * Loads the files; `name` labels observations.
   *
   * @throws {Error} when one is unreadable or invalid, or certificate and key do not match
   */
  static async load(paths: TlsPaths, name: string): Promise<TlsFiles> {
    return new TlsFiles(paths, name, check(await read(paths)));
  }

  /** The contents in use; a renewal replaces the object. */
  get context(): TlsContext {
    return this.#context;
  }

  /**
   * Checks for changes every `everyMs` until the returned function is called; reports doubts at once. It compares
   * contents, because a stat can miss a symlink swap or a second write within one clock tick.
   */
  watch(options: { everyMs: number; observe: (observation: TlsObservation) => void }): () => void {
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      const wasRefused = this.#refused !== null;
      const observation = await this.#renew();
      isBusy = false;
      // Also when the refused contents are reverted.
      const isMended = wasRefused && this.#refused === null;
      if (observation?.kind === "certificate_renewed" || isMended) tell();
      this.#tellDoubts(options.observe);
      if (observation !== null) options.observe(observation);
    };
    const tell = () =>
      options.observe({ kind: "certificate_in_use", files: this.#name, endsAtMs: endOf(this.#context) });
    this.#tellDoubts(options.observe);
    tell();
    const timer = setInterval(look, options.everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  #tellDoubts(observe: (observation: TlsObservation) => void): void {
    const nowMs = Date.now();
    const { cert } = this.#context;
    if (cert === this.#doubted.cert && nowMs - this.#doubted.atMs < dayMs) return;
    this.#doubted = { cert, atMs: nowMs };
    for (const doubt of doubtsOf(chainOf(cert), nowMs)) {
      observe({ kind: "certificate_doubtful", files: this.#name, ...doubt });
    }
  }

  async #renew(): Promise<TlsObservation | null> {
    let seen = "";
    try {
      const next = await read(this.#paths);
      seen = JSON.stringify(next);
      if (seen === this.#refused) return null;
      this.#refused = null;
      if (seen === JSON.stringify(this.#context)) return null;
      const isCaNew = check(next).ca !== this.#context.ca;
      const [nowMs, before] = [Date.now(), chainOf(this.#context.cert)];
      if (isExpired(chainOf(next.cert), nowMs) && !isExpired(before, nowMs)) {
        throw new Error("The certificate has expired, and the one before has not");
      }
      this.#context = next;
      return { kind: "certificate_renewed", files: this.#name, isCaNew };
    } catch (error) {
      if (seen === this.#refused) return null;
      this.#refused = seen;
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

/** The earliest expiry, in milliseconds since 1970. */
function endOf({ cert, ca = "" }: TlsContext): number {
  return Math.min(...chainOf(`${cert}\n${ca}`).map(({ validTo }) => Date.parse(validTo)));
}

function check(context: TlsContext): TlsContext {
  const { cert, key, ca } = context;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The certificate and the key do not belong together");
  }
  // An empty or broken one would silently trust no one.
  if (ca !== undefined) new X509Certificate(ca);
  // Fails now rather than on each connection.
  createSecureContext(context);
  return context;
}
