/**
 * The files of a mutual TLS client: its certificate and key, and the CA of the server.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

/** The files, PEM. */
export interface ClientFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What the files hold. */
export interface ClientCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads the files.
 *
 * @throws {Error} when one cannot be read or used, or certificate and key do not belong together
 */
export function readClientFiles(files: ClientFiles): ClientCredentials {
  return check(read(files));
}

/**
 * Looks every `everyMs` whether the files hold something else that can be used, until the returned function is
 * called. What cannot be used is passed over: files that are just being replaced look like that too.
 */
export function watchClientFiles(files: ClientFiles, options: {
  readonly current: ClientCredentials;
  readonly everyMs: number;
  readonly onChange: (credentials: ClientCredentials) => void;
}): () => void {
  let { current } = options;
  const timer = setInterval(() => {
    let next: ClientCredentials;
    try {
      next = read(files);
      if (next.ca === current.ca && next.cert === current.cert && next.key === current.key) return;
      check(next);
    } catch {
      return;
    }
    current = next;
    options.onChange(next);
  }, options.everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function read({ ca, cert, key }: ClientFiles): ClientCredentials {
  return { ca: readFileSync(ca, "utf8"), cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

function check(credentials: ClientCredentials): ClientCredentials {
  const { ca, cert, key } = credentials;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The certificate and the key do not belong together");
  }
  // A broken one would trust nobody.
  new X509Certificate(ca);
  // Refuses what it would refuse for each connection.
  createSecureContext({ ca, cert, key });
  return credentials;
}
