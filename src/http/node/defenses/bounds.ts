/** A listener's timeouts and limits. */

/** The bounds that {@linkcode ListenOptions} can override. */
export interface Bounds {
  /** The maximum time to a connection's first byte, and from a request's first byte to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** The maximum time from the end of a request's headers to the end of its response. */
  readonly requestTimeoutMs: number;
  /** How long a client may pause while it reads a response. */
  readonly stallTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long an idle connection stays open during shutdown; its next response has `Connection: close`. */
  readonly lingerTimeoutMs: number;
  /** The maximum time for a TLS handshake, and separately for the wait before it. */
  readonly handshakeTimeoutMs: number;
  /** The limits for discarding the rest of a request after an early response. */
  readonly discardTimeoutMs: number;
  readonly discardBytesMax: number;
  /** The interval of the timeout checks, and thus the precision of timeouts. */
  readonly sweepIntervalMs: number;
  /** The maximum total length of all header lines. */
  readonly headerBytesMax: number;
  readonly headerLinesMax: number;
  /** The delay after which a client that must send or read is evicted before idle clients. */
  readonly evictionGraceMs: number;
  readonly connectionsMax: number;
  /** The maximum number of connections that are in a TLS handshake or queued for one. */
  readonly handshakesMax: number;
  readonly streamsMax: number;
  /** The maximum number of unread HTTP/2 responses, above which a connection is evicted. */
  readonly unreadResponsesMax: number;
  /** The same limit per address, with the exceptions of `ListenOptions.connectionsPerAddress`. */
  readonly unreadPerAddressMax: number;
  /** The maximum number of queued HTTP/1 requests, above which the connection closes after the current response. */
  readonly pipelinedMax: number;
  readonly certificatePollMs: number;
  readonly ticketKeyMs: number;
}

export const defaultBounds: Bounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  stallTimeoutMs: 20_000,
  // Longer than the 60 s of common proxies, so that the proxy closes first.
  idleTimeoutMs: 65_000,
  // A busy client sends another request within this time; an earlier close would lose that request.
  lingerTimeoutMs: 1_000,
  handshakeTimeoutMs: 5_000,
  discardTimeoutMs: 5_000,
  discardBytesMax: 16 * 1024 * 1024,
  sweepIntervalMs: 500,
  headerBytesMax: 16 * 1024,
  // Each lookup scans all lines. Browsers behind two proxies send about 40.
  headerLinesMax: 1_000,
  evictionGraceMs: 2_000,
  connectionsMax: 10_000,
  // Each handshake takes 100 KB; a processor finishes 2,000 in two seconds.
  handshakesMax: 2_000,
  // Clients assume 100 until they receive the setting (RFC 9113, section 6.5.2), and not all retry refused streams.
  streamsMax: 100,
  // Each unread response takes 14 KB.
  unreadResponsesMax: 1_024,
  unreadPerAddressMax: 256,
  // Clients that pipeline send a few; node:http needs 3 KB for each.
  pipelinedMax: 8,
  certificatePollMs: 5_000,
  // A leaked key exposes one hour at most.
  ticketKeyMs: 3_600_000,
};

/**
 * The maximum number of connections per client address (IPv6: per /64). Chosen: an office or carrier behind one address
 * uses tens of connections, and exhausting all slots takes 40 addresses.
 */
export const connectionsPerAddress = 256;

export const fixedBounds = {
  /** The number of connections that an eviction considers: largest address first, then oldest connection first. */
  evictionCandidatesMax: 64,
  /** The number of sockets that a sweep checks, at a few microseconds each; all are checked within ten seconds. */
  socketsPerSweep: 500,
  /** The number of connections up to which an address has the reputation `few`. */
  fewConnectionsMax: 8,
  /** How long abuse is remembered, and for how many addresses. */
  abuseMemoryMs: 60_000,
  abusiveAddressesMax: 10_000,
  /** Chosen: 2, about 1 ms; 256 connections that withhold their first bytes can still cause a turn of 128 ms. */
  handshakesPerTurn: 2,
  /**
   * The delay between handshakes by the address's reputation. `abusive`: a connection was evicted for abuse.
   * `many`: more connections than partners need; 100 handshakes per second take a twentieth of a processor.
   */
  handshakeGapsMs: { abusive: 500, many: 10, few: 0 },
  /**
   * The number of HTTP/2 connections per address that get all streams; a client needs one. Fewer streams on the others
   * save two thirds of the memory of 1,000 connections that read nothing (Node: 39 instead of 106 MiB).
   */
  unrestrictedSessionsMax: 2,
  restrictedStreamsMax: 16,
  /** The stream limit for a slow reader's new connection while at least half of `unreadResponsesMax` is in use. */
  pressureStreamsMax: 4,
  /** The burst of control bytes: a few times what a client's windows can require, and 1–2 ms of work. */
  controlBytesMax: 256 * 1024,
  /** Enough for a few hundred PINGs per second. */
  controlBytesPerSecond: 4 * 1024,
  framingBytesPerBodyByte: 2,
  /** The credit per response, for window updates, PINGs and priorities. */
  responseCreditBytes: 2 * 1024,
  /** Allows a window update per few hundred bytes. */
  responseBytesPerCredit: 16,
  /** Charged per canceled request, which allows hundreds at once, then four per second. */
  cancellationBytes: 1024,
  /** The maximum number of body chunks, plus one per `bodyChunkBytesMin` bytes; a chunk costs as much as 16 KiB. */
  bodyChunksMax: 4_096,
  bodyChunkBytesMin: 64,
  /** The maximum number of buffered response bytes per HTTP/2 socket on Deno; a lower one slows down fast readers. */
  socketBufferBytesMax: 256 * 1024,
  /** The maximum announced length of an unread body that is discarded to keep the connection. */
  reuseDiscardBytesMax: 256 * 1024,
} as const;
