/**
 * What Node says behind its "fetch failed", as far as it shows that nothing was sent, or what was answered. Other
 * platforms say less; there it has to be taken for possible that a lead went out. This module is browser compatible.
 *
 * @module
 */

/** No connection was made. */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;
/** The server's certificate was not accepted, which comes before anything is written. */
const notTrusted =
  /^(ERR_TLS_CERT_[A-Z_]+|(CERT|CRL|UNABLE_TO|ERROR_IN)_[A-Z_]+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;
/** TLS never came about. Other alerts may come later, when a post has long been on its way. */
const notAgreed =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|TLSV1_ALERT_PROTOCOL_VERSION|.*HANDSHAKE_FAILURE|.*UNRECOGNIZED_NAME)$/;
/** Node has a code of its own for this, but it is the one of every reset. */
const cutInHandshake = "Client network socket disconnected before secure TLS connection was established";
/** A port that the standard closes to `fetch`, such as the mail server's. */
const badPort = "bad port";

/** The answer was a 101, which the standard knows only as a failure. */
export function wasUpgraded(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  return code === "UND_ERR_SOCKET" && message === "bad upgrade";
}

/** Whether it is sure that no byte of the request went out on an established connection. */
export function nothingWasSent(cause: unknown): boolean {
  if (typeof cause !== "object" || cause === null) return false;
  const { code, syscall, message } = cause as { code?: unknown; syscall?: unknown; message?: unknown };
  if (syscall === "connect" || message === cutInHandshake || message === badPort) return true;
  return typeof code === "string" && [notConnected, notTrusted, notAgreed].some((codes) => codes.test(code));
}
