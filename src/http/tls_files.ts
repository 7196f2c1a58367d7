/**
 * The files of one end of TLS: its certificate chain and key, and the authorities that vouch for the other end. They
 * are read, checked, and read again when they change.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

/** What is told of a certificate chain. */
interface TlsDoubt {
  /**
   * `chain_incomplete`: the authority that has signed the last one stands in none of them, and is no root: a client that
   * has not met it refuses. `chain_out_of_order`: one is not signed by the next.
   */
  readonly doubt: "not_yet_valid" | "expired" | "expires_soon" | "chain_incomplete" | "chain_out_of_order";
  /** Of the first certificate, the owner's. */
  readonly expiresAt: Date;
}

const dayMs = 86_400_000;
/**
 * Chosen: a fortnight, because whatever renews a certificate of 90 days has tried for as long by then; a quarter of its
 * life where that is less, because those of six days are renewed after three.
 */
const soonMs = 14 * dayMs;

/** The certificates of a PEM text, the owner's first; what else it holds is passed over. */
export function chainOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Whether the owner's certificate is over. */
export function isExpired([first]: readonly X509Certificate[], nowMs: number): boolean {
  return first !== undefined && nowMs >= Date.parse(first.validTo);
}

/** What is doubtful about a chain now. */
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

/** Why clients may refuse a chain, whatever the time; `null`: for no such reason. */
export function chainDoubt(chain: readonly X509Certificate[]): TlsDoubt["doubt"] | null {
  const isInOrder = chain.every((one, index) => {
    const next = chain[index + 1];
    return next === undefined || one.checkIssued(next);
  });
  if (!isInOrder) return "chain_out_of_order";
  // Public authorities say where the certificate of the one that has signed is to be had, and sign nobody's own with
  // their root. A private authority says nothing, and those who know it have it.
  const [only, ...others] = chain;
  const isIncomplete = others.length === 0 && only?.infoAccess?.includes("CA Issuers") === true;
  return isIncomplete ? "chain_incomplete" : null;
}

/** Where the files are, PEM. */
export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
  /** One or more certificates of authorities; without it a client trusts the system's, and a server asks for nothing. */
  readonly caFile?: string;
}

/** What the files hold, as a TLS server or client takes it. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
  readonly minVersion: "TLSv1.2";
}

/** What became of a change of the files; `files` says whose they are. */
export type TlsObservation =
  /** What is in use, told when it is first watched and after each change; the first certificate of it ends then. */
  | { readonly kind: "certificate_in_use"; readonly files: string; readonly endsAtMs: number }
  /** What they hold is in use; `isCaNew` when the authorities are others. */
  | { readonly kind: "certificate_renewed"; readonly files: string; readonly isCaNew: boolean }
  /** They cannot be read or do not fit together; what they held before stays in use. Told once for each change. */
  | { readonly kind: "certificate_refused"; readonly files: string; readonly error: unknown }
  /** What is in use may be refused by clients. Told when it is taken up, and once a day. */
  | { readonly kind: "certificate_doubtful"; readonly files: string } & TlsDoubt;

/** Files that may be renewed. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #name: string;
  #context: TlsContext;
  /** The last content that was refused; empty when a file could not be read. */
  #refused: string | null = null;
  /** What was looked at for doubts, and when. */
  #doubted: { readonly cert: string | null; readonly atMs: number } = { cert: null, atMs: 0 };

  private constructor(paths: TlsPaths, name: string, context: TlsContext) {
    this.#paths = paths;
    this.#name = name;
    this.#context = context;
  }

  /**
   * Reads the files; `name` says whose they are.
   *
   * @throws {Error} when one cannot be read or used, or certificate and key do not belong together
   */
  static async load(paths: TlsPaths, name: string): Promise<TlsFiles> {
    return new TlsFiles(paths, name, check(await read(paths)));
  }

  /** What is in use. A renewal replaces all of it. */
  get context(): TlsContext {
    return this.#context;
  }

  /**
   * Looks for a change every `everyMs`, until the returned function is called; what is doubtful about the files as they
   * are is told at once.
   *
   * Chosen: the contents are compared, because small reads now and then cost nothing, and a stat can miss what a
   * symlink swap or a second write within one tick of the clock does.
   */
  watch(options: { everyMs: number; observe: (observation: TlsObservation) => void }): () => void {
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      const wasRefused = this.#refused !== null;
      const observation = await this.#renew();
      isBusy = false;
      // Also when what was refused has gone, and the files are again what is in use.
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

/** When the first of the certificates ends, in milliseconds since 1970. */
function endOf({ cert, ca = "" }: TlsContext): number {
  return Math.min(...chainOf(`${cert}\n${ca}`).map(({ validTo }) => Date.parse(validTo)));
}

function check(context: TlsContext): TlsContext {
  const { cert, key, ca } = context;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The certificate and the key do not belong together");
  }
  // An empty or broken one would trust nobody, and say so to nobody.
  if (ca !== undefined) new X509Certificate(ca);
  // Refuses what it would refuse for each connection.
  createSecureContext(context);
  return context;
}
