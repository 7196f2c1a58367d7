/**
 * The listener's certificate: read from files, checked, and read again when they change.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { HttpObservation, TlsFiles } from "./options.ts";

/** What a TLS server is given. Every renewal gives all of it: the old context is replaced as a whole. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: "TLSv1.2";
}

/** What became of a change of the files. */
type Renewal = Extract<HttpObservation, { kind: "certificate_renewed" | "certificate_refused" }>;

/** A certificate chain and its key, from files that may be renewed. */
export class Certificate {
  readonly #files: TlsFiles;
  #context: TlsContext;
  /** The last content that was looked at, so that a broken pair is reported once. */
  #seen: string;

  private constructor(files: TlsFiles, context: TlsContext) {
    this.#files = files;
    this.#context = context;
    this.#seen = context.cert + context.key;
  }

  /** Reads the pair. Throws when a file cannot be read or the two do not belong together. */
  static async load(files: TlsFiles): Promise<Certificate> {
    return new Certificate(files, check(await read(files)));
  }

  /** The pair in use. */
  get context(): TlsContext {
    return this.#context;
  }

  /**
   * Looks for a renewed pair every `everyMs` until the returned function is called. A pair that cannot be
   * used leaves the one before in place and is reported once.
   *
   * Chosen: the files themselves are compared, because two small reads now and then cost nothing, and a stat
   * can miss what a symlink swap or a second write within one tick of the clock does.
   */
  watch(
    options: {
      everyMs: number;
      onRenewed: (context: TlsContext) => void;
      observe: (renewal: Renewal) => void;
    },
  ): () => void {
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      const renewal = await this.#renew(options.onRenewed);
      isBusy = false;
      if (renewal !== null) options.observe(renewal);
    };
    const timer = setInterval(look, options.everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  async #renew(onRenewed: (context: TlsContext) => void): Promise<Renewal | null> {
    let seen = "";
    try {
      const context = await read(this.#files);
      seen = context.cert + context.key;
      if (seen === this.#seen) return null;
      onRenewed(check(context));
      this.#context = context;
      this.#seen = seen;
      return { kind: "certificate_renewed" };
    } catch (error) {
      if (seen === this.#seen) return null;
      this.#seen = seen;
      return { kind: "certificate_refused", error };
    }
  }
}

async function read(files: TlsFiles): Promise<TlsContext> {
  const [cert, key] = await Promise.all([readFile(files.certFile, "utf8"), readFile(files.keyFile, "utf8")]);
  return { cert, key, minVersion: "TLSv1.2" };
}

function check(context: TlsContext): TlsContext {
  if (!new X509Certificate(context.cert).checkPrivateKey(createPrivateKey(context.key))) {
    throw new Error("The certificate and the key do not belong together");
  }
  createSecureContext(context);
  return context;
}
