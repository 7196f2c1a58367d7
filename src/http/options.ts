/** Options and observations of a listener. The kit itself knows nothing of leads. */

import type { PeerCertificate } from "node:tls";
import type { Networks } from "./addresses.ts";
import type { Exchange, Reply } from "./exchange.ts";
import type { RequestIdRule } from "./request_id.ts";
import type { Bounds } from "./node/defences/bounds.ts";
import type { Router } from "./router.ts";
import type { TlsObservation, TlsPaths } from "./tls_files.ts";

/** The bound address. */
export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** A service on a shared listener, selected by `Host`. */
export interface Surface {
  readonly name: string;
  /** Names as in `Host`: with a port, only that port matches; without, any. */
  readonly hosts: readonly string[] | ((address: BoundAddress) => readonly string[]);
  readonly router: Router;
  /** Renders the response to an exception or to a handler over the request's time bound. */
  readonly fault: (exchange: Exchange, error: unknown) => Reply;
}

/**
 * Statuses that the listener sends itself: malformed HTTP or Host (400), request timeout (408), unmet `Expect` (417),
 * unknown `Host` (421), headers too large (431), unsupported transfer coding (501), a fault outside every surface
 * (503).
 */
export type RefusalStatus = 400 | 408 | 417 | 421 | 431 | 501 | 503;

/** One line of the access log. */
export interface Access {
  readonly requestId: string;
  /** The surface's name, or `"-"` if none was selected. */
  readonly surface: string;
  /** A common method, otherwise `"-"`. */
  readonly method: string;
  /** The route pattern, or `"-"`: never the path or query as sent. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Body bytes passed to the connection. */
  readonly bytes: number;
  readonly clientAddress: string;
  readonly keyId: string | null;
  /** The handler's reason for a refusal. */
  readonly reason: string | null;
  /** The connection closed before the whole response was passed to it. */
  readonly aborted: boolean;
}

/** An event that a listener reports. */
export type HttpObservation =
  /** Once per request, unreadable ones included. */
  | { readonly kind: "request" } & Access
  /** Once per handler exception or unsendable response. */
  | { readonly kind: "fault"; readonly error: unknown; readonly exchange: Exchange | null }
  /** A client certificate was refused: a TLS error code, or the result of `admit`. */
  | { readonly kind: "client_refused"; readonly reason: string; readonly clientAddress: string }
  | TlsObservation;

/** The options of {@linkcode listen}. */
export interface ListenOptions {
  /** An address, or the descriptor of a listening TCP socket, which others may share. */
  readonly address: BoundAddress | { readonly fd: number };
  /** Validates the address before the first connection; may throw. */
  readonly requireAddress?: (address: BoundAddress) => void;
  readonly surfaces: readonly Surface[];
  /** Answers 421 to an unknown `Host`. Default: only with several surfaces. */
  readonly strictHost?: boolean;
  /**
   * HTTPS with HTTP/2 and HTTP/1.1, TLS 1.2 or later; otherwise plain HTTP/1.1. With authorities, clients must present
   * a certificate, over HTTP/1.1 only.
   */
  readonly tls?: TlsPaths | null;
  /** Returns the reason to refuse a valid client certificate, or `null`. */
  readonly admit?: (certificate: PeerCertificate) => string | null;
  /** Peers whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: Networks;
  /**
   * Connections per address. Default: `connectionsPerAddress`, except for trusted proxies and this machine; `Infinity`
   * disables it.
   */
  readonly connectionsPerAddress?: number | null;
  readonly requestId: RequestIdRule & {
    readonly generate: () => string;
  };
  /** Renders refusals outside every surface. */
  readonly refuse: (status: RefusalStatus, requestId: string) => Reply;
  /** Exceptions are observed as a fault, once. */
  readonly observe: (observation: HttpObservation) => void;
  readonly bounds?: Partial<Bounds>;
}

/** An accepting listener; `port` is the actual one. */
export interface Listener extends BoundAddress {
  /**
   * Stops accepting, lets pending requests finish within `graceMs`, then closes the rest. Resolves when all connections
   * are closed; a second call shortens the grace. A shared socket keeps listening.
   */
  close(graceMs: number): Promise<void>;
}
