/**
 * The files of a mutual TLS server: its certificate and key, and the CA of its clients. They are read
 * again when they change.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

/** The files, PEM. */
export interface ServerFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** One or more certificates of authorities whose clients are let in. */
  readonly caFile: string;
}

/** What the files hold. */
export interface ServerCredentials {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** What became of a change of the files. */
export type FilesEvent =
  | { readonly kind: "renewed"; readonly credentials: ServerCredentials; readonly caChanged: boolean }
  /** They cannot be read or do not fit; what was there before stays in use. */
  | { readonly kind: "refused"; readonly error: unknown };

/** Reads the files. Throws when one cannot be read, or certificate and key do not belong together. */
export async function readServerFiles(files: ServerFiles): Promise<ServerCredentials> {
  return check(await read(files));
}

/**
 * Looks for a change every `everyMs` until the returned function is called; a change that cannot be used is
 * reported once.
 */
export function watchServerFiles(
  files: ServerFiles,
  options: {
    readonly current: ServerCredentials;
    readonly everyMs: number;
    readonly onEvent: (event: FilesEvent) => void;
  },
): () => void {
  let { current } = options;
  let refused = "";
  let isBusy = false;
  const look = async () => {
    if (isBusy) return;
    isBusy = true;
    let seen = "";
    try {
      const next = await read(files);
      seen = JSON.stringify(next);
      if (seen === refused || seen === JSON.stringify(current)) return;
      const credentials = check(next);
      const caChanged = credentials.ca !== current.ca;
      current = credentials;
      refused = "";
      options.onEvent({ kind: "renewed", credentials, caChanged });
    } catch (error) {
      // Files that are just being replaced look like this too; the next look finds them whole.
      const fault = seen === "" ? String((error as { code?: unknown }).code) : seen;
      if (fault === refused) return;
      refused = fault;
      options.onEvent({ kind: "refused", error });
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(look, options.everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function read(files: ServerFiles): Promise<ServerCredentials> {
  const [cert, key, ca] = await Promise.all(
    [files.certFile, files.keyFile, files.caFile].map((file) => readFile(file, "utf8")),
  ) as [string, string, string];
  return { cert, key, ca };
}

function check(credentials: ServerCredentials): ServerCredentials {
  const { cert, key, ca } = credentials;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The certificate and the key do not belong together");
  }
  // An empty or broken one would let nobody in, and say so to nobody.
  new X509Certificate(ca);
  createSecureContext({ cert, key, ca });
  return credentials;
}
