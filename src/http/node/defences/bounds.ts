/** The bounds of a listener. */

/** Configurable bounds. */
export interface Bounds {
  /**
   * From a connection's start (over TLS, the end of the handshake) or a request's first byte to the end of its headers.
   */
  readonly headersTimeoutMs: number;
  /** From the end of a request's headers to the end of its body and response. */
  readonly requestTimeoutMs: number;
  /** Maximum pause of a client that reads nothing of a response. */
  readonly stallTimeoutMs: number;
  /** Maximum idle time of a connection. */
  readonly idleTimeoutMs: number;
  /** How long an idle connection stays open during shutdown; its next request is answered with `Connection: close`. */
  readonly lingerTimeoutMs: number;
  /** For a TLS handshake, and again for the wait before it. */
  readonly handshakeTimeoutMs: number;
  /** After an early response, how long the rest of the request is discarded. */
  readonly discardTimeoutMs: number;
  /** After an early response, how much of the rest is discarded. */
  readonly discardBytesMax: number;
  /** Interval of the checks, and so their precision. */
  readonly sweepIntervalMs: number;
  /** All header lines together. */
  readonly headerBytesMax: number;
  /** Each header lookup scans all lines. */
  readonly headerLinesMax: number;
  /** How long a client may delay before it is evicted ahead of idle ones when slots run short. */
  readonly slotPatienceMs: number;
  readonly connectionsMax: number;
  /** Connections in, or queued for, a TLS handshake. */
  readonly handshakesMax: number;
  /** Concurrent streams of an HTTP/2 connection. */
  readonly streamsMax: number;
  /** Unread HTTP/2 responses; one more ends the connection that has waited longest. */
  readonly untakenMax: number;
  /** The same per address, with the exceptions of `ListenOptions.connectionsPerAddress`. */
  readonly untakenOfAddressMax: number;
  /** HTTP/1 requests queued behind the current one; with more, the connection closes after the current response. */
  readonly pipelinedMax: number;
  /** Interval of checks for renewed certificates. */
  readonly certificatePollMs: number;
  /** Lifetime of a session ticket key. */
  readonly ticketKeyMs: number;
}

/** The defaults of {@linkcode Bounds}. */
export const defaultBounds: Bounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  stallTimeoutMs: 20_000,
  // Longer than the 60 s of common proxies, so that the client side closes.
  idleTimeoutMs: 65_000,
  // A busy client sends again within it and gets `Connection: close`; closing earlier would lose a request.
  lingerTimeoutMs: 1_000,
  handshakeTimeoutMs: 5_000,
  discardTimeoutMs: 5_000,
  discardBytesMax: 16 * 1024 * 1024,
  sweepIntervalMs: 500,
  headerBytesMax: 16 * 1024,
  // Browsers behind two proxies send forty.
  headerLinesMax: 1_000,
  slotPatienceMs: 2_000,
  connectionsMax: 10_000,
  // One costs 100 KB; a processor finishes 2,000 in two seconds.
  handshakesMax: 2_000,
  // Clients assume 100 until they see the setting (RFC 9113, section 6.5.2), and not all retry refused streams.
  streamsMax: 100,
  // One costs 14 KB; from half of them on, slow readers get fewer streams.
  untakenMax: 1_024,
  untakenOfAddressMax: 256,
  // Pipelining clients send a few; node:http takes 3 KB each.
  pipelinedMax: 8,
  certificatePollMs: 5_000,
  // A leaked key exposes one hour at most.
  ticketKeyMs: 3_600_000,
};

/**
 * Connections per client address (IPv6: per /64). Chosen: an office or carrier behind one address has tens, and filling
 * all slots takes 40 addresses.
 */
export const connectionsPerAddress = 256;

/** Bounds that are not configurable. */
export const fixedBounds = {
  /** Candidates for eviction, the oldest of the address with the most connections. */
  slotCandidatesMax: 64,
  /** Slots checked per sweep, a few microseconds each; all within ten seconds. */
  slotLooks: 500,
  /** Addresses with more connections yield to others. */
  fewConnectionsMax: 8,
  /** How long an abusive address is remembered, and how many. */
  abusiveForMs: 60_000,
  abusiveMax: 10_000,
  /**
   * Handshakes started per turn of the event loop. Chosen: 2, about 1 ms. A client that withholds the first bytes of
   * 256 connections still makes one turn of 128 ms.
   */
  handshakesPerTurn: 2,
  /**
   * Milliseconds between handshakes, by class of address. `abusive`: one of its connections was ended for abuse.
   * `many`: more connections than partners keep; 100 handshakes a second take a twentieth of a processor. `few`: all
   * others, which go first.
   */
  handshakeGapsMs: { abusive: 500, many: 10, few: 0 },
  /**
   * Connections per address with all streams, and the streams of each further one: HTTP/2 needs one connection. Saves
   * two thirds of the memory of 1,000 connections that read nothing (Node: 39 instead of 106 MiB).
   */
  fullSessionsMax: 2,
  furtherStreamsMax: 16,
  /** Streams of a new connection of a slow reader, while half of the unread responses are taken. */
  pressedStreamsMax: 4,
  /** Control bytes at once: 256 KiB, several times what a client's windows allow unread, and 1–2 ms of work. */
  controlBytesMax: 256 * 1024,
  /** Control bytes a second: a few hundred PINGs. */
  controlBytesPerSecond: 4 * 1024,
  /** Framing may take as many bytes as the body. */
  framingFactor: 2,
  /** Per response read: window updates, PINGs, priorities. */
  answeredBytes: 2 * 1024,
  /** One window update per few hundred bytes of a response. */
  sentFraction: 16,
  /** Charge for a canceled request: hundreds at once, then four a second. */
  takenBackBytes: 1024,
  /** A body in ever smaller pieces is cut off: each costs as much as 16 KiB. */
  bodyPiecesMax: 4_096,
  bodyPieceBytesMin: 64,
  /** Buffered response bytes per HTTP/2 socket. Less slows down fast readers. */
  heldBytesMax: 256 * 1024,
  /** Announced bodies up to this length are discarded so that the connection can be reused. */
  keptDiscardBytesMax: 256 * 1024,
} as const;
