/** A listener's options and the events that it reports. */

import type { PeerCertificate } from "node:tls";
import type { Networks } from "./addresses.ts";
import type { Exchange, Reply } from "./exchange.ts";
import type { RequestIdRule } from "./request_id.ts";
import type { Bounds } from "./node/defenses/bounds.ts";
import type { Router } from "./router.ts";
import type { TlsObservation, TlsPaths } from "./tls_files.ts";

export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** A service on a shared listener, selected by the `Host` header. */
export interface Surface {
  readonly name: string;
  /** The values of `Host` that select the surface; a name without a port matches any port. */
  readonly hosts: readonly string[] | ((address: BoundAddress) => readonly string[]);
  readonly router: Router;
  /** Renders the response to an exception or a handler's timeout. */
  readonly fault: (exchange: Exchange, error: unknown) => Reply;
}

/**
 * The statuses that the listener itself sends; 400 also means a malformed `Host`, 417 an unsupported `Expect`, 421 an
 * unknown `Host`, 501 an unsupported transfer coding, and 503 an error outside any surface.
 */
export type RefusalStatus = 400 | 408 | 417 | 421 | 431 | 501 | 503;

/** A line in the access log. */
export interface Access {
  readonly requestId: string;
  /** The surface's name, or `"-"` if none was selected. */
  readonly surface: string;
  /** A standard method, or `"-"` for any other. */
  readonly method: string;
  /** The route pattern, or `"-"`; never the path or query. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** The number of body bytes that were written to the connection. */
  readonly bytes: number;
  readonly clientAddress: string;
  readonly keyId: string | null;
  readonly eventId: string | null;
  readonly reason: string | null;
  /** Whether the response was cut off. */
  readonly aborted: boolean;
}

export type HttpObservation =
  /** A request has ended; reported once per request, even if it is malformed. */
  | { readonly kind: "request" } & Access
  /** A handler, an observer or the listener itself threw an exception, or a response could not be sent. */
  | { readonly kind: "fault"; readonly error: unknown; readonly exchange: Exchange | null }
  /** A client certificate was refused; `reason` is a TLS error code or the result of `admit`. */
  | { readonly kind: "client_refused"; readonly reason: string; readonly clientAddress: string }
  | TlsObservation;

export interface ListenOptions {
  /** An address, or the descriptor of a listening TCP socket, which other processes may share. */
  readonly address: BoundAddress | { readonly fd: number };
  /** Throws if the bound address is not allowed; called before the first connection. */
  readonly requireAddress?: (address: BoundAddress) => void;
  readonly surfaces: readonly Surface[];
  /** Refuses an unknown `Host` with 421. Default: only with more than one surface. */
  readonly strictHost?: boolean;
  /** Without it, plain HTTP/1.1; with its `caFile`, HTTP/1.1 over mutual TLS; otherwise HTTP/2 and 1.1 over TLS. */
  readonly tls?: TlsPaths | null;
  /** Returns the reason to refuse a valid client certificate, or `null`. */
  readonly admit?: (certificate: PeerCertificate) => string | null;
  /** The peers whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: Networks;
  /** `null` means the default: the constant `connectionsPerAddress`, but no limit for trusted proxies and loopback. */
  readonly connectionsPerAddress?: number | null;
  readonly requestId: RequestIdRule & { readonly generate: () => string };
  /** Renders the refusals that no surface handles. */
  readonly refuse: (status: RefusalStatus, requestId: string) => Reply;
  /** Receives each event; if it throws, the exception is reported as a fault. */
  readonly observe: (observation: HttpObservation) => void;
  readonly bounds?: Partial<Bounds>;
}

export interface Listener extends BoundAddress {
  /**
   * Stops accepting connections, waits up to `graceMs` for pending requests, then closes the remaining connections.
   * Resolves when all are closed; a second call can shorten the grace period.
   */
  close(graceMs: number): Promise<void>;
}
