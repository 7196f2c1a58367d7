/**
 * What a listener is told: surfaces, bounds, and the way in which it reports. Numbers and reply bodies
 * that belong to the service come in here; the kit itself knows nothing of leads.
 *
 * @module
 */

import type { PeerCertificate } from "node:tls";
import type { Networks } from "./addresses.ts";
import type { Exchange, Reply } from "./exchange.ts";
import type { RequestIdRule } from "./request_id.ts";
import type { Bounds } from "./node/defences/bounds.ts";
import type { Router } from "./router.ts";
import type { TlsObservation, TlsPaths } from "./tls_files.ts";

/** The address that a listener is bound to. */
export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** One of the services that share a listener, told apart by `Host`. */
export interface Surface {
  /** For the access log: `"intake"`. */
  readonly name: string;
  /** Names as in a `Host` header: with a port they match that port alone, without one any. */
  readonly hosts: readonly string[] | ((address: BoundAddress) => readonly string[]);
  readonly router: Router;
  /** Answers what a handler threw, and a handler that has not answered within the request's bound. */
  readonly fault: (exchange: Exchange, error: unknown) => Reply;
}

/**
 * What the listener refuses by itself: malformed HTTP or Host (400), a request that did not arrive in time
 * (408), an unknown `Host` (421), an `Expect` it cannot meet (417), headers too large (431), and a fault
 * outside every surface (503), and a transfer coding other than chunked (501).
 */
export type RefusalStatus = 400 | 408 | 417 | 421 | 431 | 501 | 503;

/** One line of the access log. */
export interface Access {
  readonly requestId: string;
  /** The surface's name, or `"-"` when the request did not get as far. */
  readonly surface: string;
  /** One of the common methods; `"-"` for any other, and when the request could not be read. */
  readonly method: string;
  /** The pattern of the route, or `"-"`: never the path or query as sent. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Bytes of the reply's body that were handed to the connection. */
  readonly bytes: number;
  readonly clientAddress: string;
  readonly keyId: string | null;
  /** Why the request was refused, where a handler says so. */
  readonly reason: string | null;
  /** The connection closed before the reply was handed over whole. */
  readonly aborted: boolean;
}

/** What a listener tells of its work. */
export type HttpObservation =
  /** Once for each request, those that could not be read included. */
  | { readonly kind: "request" } & Access
  /** Once for each fault: what a handler threw, or a reply that could not be sent. */
  | { readonly kind: "fault"; readonly error: unknown; readonly exchange: Exchange | null }
  /** A client was not let in, where clients show certificates: an error code of TLS, or what `admit` says. */
  | { readonly kind: "client_refused"; readonly reason: string; readonly clientAddress: string }
  | TlsObservation;

/** What {@linkcode listen} is told. */
export interface ListenOptions {
  /** Where it listens: an address, or the descriptor of a TCP socket that listens already and that others may share. */
  readonly address: BoundAddress | { readonly fd: number };
  /** Looks at the address before the first connection is taken; what it throws refuses it. */
  readonly requireAddress?: (address: BoundAddress) => void;
  /** At least one. */
  readonly surfaces: readonly Surface[];
  /** Answer 421 to a `Host` that no surface has. Default: only when there are several surfaces. */
  readonly strictHost?: boolean;
  /**
   * HTTPS with HTTP/2 and HTTP/1.1, TLS 1.2 or later; plain HTTP/1.1 without. With authorities, clients have to show a
   * certificate of one of them and get no byte of HTTP else, over HTTP/1.1 only.
   */
  readonly tls?: TlsPaths | null;
  /** Says of a client's certificate that the authorities vouch for why it is refused all the same. Default: it is not. */
  readonly admit?: (certificate: PeerCertificate) => string | null;
  /** Peers whose `X-Forwarded-For` is believed. Default: none. */
  readonly trustedProxies?: Networks;
  /**
   * How many connections any address may have. Default: `connectionsPerAddress` for all but trusted proxies and
   * this machine, which have no such bound; `Infinity` is none for anybody.
   */
  readonly connectionsPerAddress?: number | null;
  readonly requestId: RequestIdRule & {
    /** A fresh request id, ASCII. */
    readonly generate: () => string;
  };
  /** The reply to what no surface sees. */
  readonly refuse: (status: RefusalStatus, requestId: string) => Reply;
  /** What it throws is observed as a fault; what it throws then has nowhere to go. */
  readonly observe: (observation: HttpObservation) => void;
  readonly bounds?: Partial<Bounds>;
}

/** A listener that accepts connections; its port is the one it got, also when asked for port 0. */
export interface Listener extends BoundAddress {
  /**
   * Stops accepting, lets the requests that are being answered or on their way finish for at most `graceMs`, then cuts what is
   * left. Resolves when every connection is closed. A second call shortens the grace. A socket that others share goes on
   * listening for them, and what it has not accepted is theirs.
   */
  close(graceMs: number): Promise<void>;
}
