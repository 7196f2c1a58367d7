/**
 * What a listener agrees to in a TLS handshake, and how long the keys of its session tickets live.
 *
 * @module
 */

import { constants, randomBytes } from "node:crypto";
import { createSecureContext, type SecureContextOptions, type Server } from "node:tls";
import type { Bounds } from "../options.ts";
import type { TlsContext } from "../tls_files.ts";

/**
 * Chosen: the suites of TLS 1.3 that everybody has, and of TLS 1.2 those with a fresh key exchange and authenticated
 * encryption; Node would also take the server's key itself for the exchange, and CBC with SHA-1. Deno has these only.
 */
const ciphers = [
  ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
  ...["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].flatMap((
    rest,
  ) => [`ECDHE-ECDSA-${rest}`, `ECDHE-RSA-${rest}`]),
].join(":");

/** Groups of the key exchange; the first withstands what is recorded today and read with a quantum computer later. */
const groups = ["X25519MLKEM768", "X25519", "P-256", "P-384"];

/**
 * Browsers go to this name over HTTPS only, whatever link or typed address brings them (RFC 6797). On listeners that speak
 * TLS to everybody: a plain one stands behind an edge, which knows whether it is reached over HTTPS.
 *
 * Chosen: two years, because scanners and browsers' lists ask for one at least and nothing here ever speaks plain HTTP;
 * without `includeSubDomains`, because what is below the name is not ours to decide on.
 */
export const strictTransport: readonly string[] = ["Strict-Transport-Security", "max-age=63072000"];

/** An OpenSSL before 3.5 has no such group, and refuses a list that names it. */
const ecdhCurve = [groups, groups.slice(1)].map((list) => list.join(":")).find((list) => {
  try {
    createSecureContext({ ecdhCurve: list });
    return true;
  } catch {
    return false;
  }
});

/**
 * What the server is given of the TLS files, now and when they are renewed.
 *
 * Chosen: the client's order of the suites, because none of them is weak and it knows which its processor is quick at;
 * Deno knows no other. No renegotiation, and neither runtime has compression or takes data before the handshake is over
 * (0-RTT), which a stranger could send again.
 */
export function contextFor(
  { admission, bounds }: { readonly admission: object | null; readonly bounds: Bounds },
  context: TlsContext,
): SecureContextOptions {
  const noRenegotiation = constants.SSL_OP_NO_RENEGOTIATION;
  return {
    ...context,
    ciphers,
    ...(ecdhCurve === undefined ? {} : { ecdhCurve }),
    honorCipherOrder: false,
    // Seconds; a ticket is good for nothing beyond its key.
    sessionTimeout: Math.ceil(bounds.ticketKeyMs / 1000),
    // A resumed session is let in by the certificate of an earlier handshake, so where clients show certificates there is
    // none. Deno resumes all the same; see Admission.
    secureOptions: admission === null ? noRenegotiation : noRenegotiation | constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Makes the key of the session tickets anew every `everyMs`, until the returned function is called. Who comes with a
 * ticket of an earlier key, of another process or of the process before an upgrade, shakes hands in full.
 *
 * Chosen: no key is shared between processes or outlives one, because a recorded TLS 1.2 session is read by whoever has
 * the key of its ticket. Deno has keys of its own, which it replaces every six hours, and this changes nothing there.
 */
export function rotateTicketKeys(server: Pick<Server, "setTicketKeys">, everyMs: number): () => void {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(48)), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
