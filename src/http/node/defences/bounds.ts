/**
 * The bounds of a listener, in one table.
 *
 * @module
 */

/** The bounds of a listener; each has a default. */
export interface Bounds {
  /** From a connection's start (over TLS the end of its handshake), or a request's first byte, to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the end of a request's headers to the end of its body and to its answer. */
  readonly requestTimeoutMs: number;
  /** The longest pause in which a client takes nothing of a reply. */
  readonly stallTimeoutMs: number;
  /** How long a connection is kept without a request. */
  readonly idleTimeoutMs: number;
  /**
   * How long a connection between two requests is kept when the listener closes: what its client sends by then is answered,
   * with `Connection: close`.
   */
  readonly lingerTimeoutMs: number;
  /** A TLS handshake, and the same again for the wait before it. */
  readonly handshakeTimeoutMs: number;
  /** After an early answer, how long the rest of a request is read and thrown away. */
  readonly discardTimeoutMs: number;
  /** After an early answer, how much of the rest of a request is read and thrown away. */
  readonly discardBytesMax: number;
  /** How often the bounds are looked at: each is late by this much at most. */
  readonly sweepIntervalMs: number;
  /** All header lines of a request together. */
  readonly headerBytesMax: number;
  /** Header lines of a request: each look-up of a header reads them all. */
  readonly headerLinesMax: number;
  /**
   * How long a client may keep a slot waiting before it goes ahead of idle ones, when slots run short: a body that is a
   * moment late is an honest one's.
   */
  readonly slotPatienceMs: number;
  readonly connectionsMax: number;
  /** Connections in a TLS handshake, or in line for one. */
  readonly handshakesMax: number;
  /** Requests at once on an HTTP/2 connection. */
  readonly streamsMax: number;
  /** HTTP/2 answers that wait for their clients. One too many ends the connection of the one that has waited longest. */
  readonly untakenMax: number;
  /** The same of one address, with the exceptions of `ListenOptions.connectionsPerAddress`. */
  readonly untakenOfAddressMax: number;
  /**
   * HTTP/1 requests that are kept behind the one that is being answered. A client that sends more ahead is answered
   * that one, and closed.
   */
  readonly pipelinedMax: number;
  /** How often renewed certificate files are looked for. */
  readonly certificatePollMs: number;
  /** How long the key lives that session tickets are made with; with it go the tickets. */
  readonly ticketKeyMs: number;
}

/** The defaults of {@linkcode Bounds}. */
export const defaultBounds: Bounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  stallTimeoutMs: 20_000,
  // Longer than the 60 s for which common proxies keep a connection: the side that reuses it closes it.
  idleTimeoutMs: 65_000,
  // A client that keeps its connections busy asks again within it and is told to go; closed under its hands, one of its
  // requests would be lost. As much for one that has long been idle: it is used when the others are not enough, in a
  // moment that is as busy for its client.
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
  // One costs some 100 KB once it has begun, and 2,000 are as many as one processor can finish in two seconds.
  handshakesMax: 2_000,
  // RFC 9113, section 6.5.2: clients take so many for granted until they are told, and not all ask again when refused.
  streamsMax: 100,
  // One costs 14 KB. Half of them may wait before those who leave them waiting get fewer streams.
  untakenMax: 1_024,
  untakenOfAddressMax: 256,
  // Who sends requests ahead sends a few. node:http takes 3 KB for each.
  pipelinedMax: 8,
  certificatePollMs: 5_000,
  // Who takes the key out of the process's memory reads what was sent in the hour of it, and no more.
  ticketKeyMs: 3_600_000,
};

/**
 * How many connections a client's address may have, an IPv6 /64 for one. Chosen: 256, because an office or a carrier
 * behind one address has tens, and 40 addresses are needed to fill all slots.
 */
export const connectionsPerAddress = 256;

/** The bounds that no listener sets otherwise. */
export const fixedBounds = {
  /** Slots that are looked at for one that can go: of the address with the most connections, those there longest. */
  slotCandidatesMax: 64,
  /** Slots whose sockets are looked at in a sweep, each of which costs a few microseconds: all within ten seconds. */
  slotLooks: 500,
  /** Partners keep a few connections open; who has more lets others go first. */
  fewConnectionsMax: 8,
  /** How long an address is known for a connection that was ended, and of how many that is known. */
  abusiveForMs: 60_000,
  abusiveMax: 10_000,
  /**
   * Handshakes that begin in a turn of the event loop. Chosen: 2, because a turn then is about a millisecond long however
   * many clients come at once, and what is under way goes on between them. Who holds back the first bytes of many, and
   * sends them together, still makes one turn as long as they take: 128 ms for the 256 of an address.
   */
  handshakesPerTurn: 2,
  /**
   * Milliseconds between two handshakes of all addresses that are known for the same; each address has its turn.
   * `abusive`: a connection of it was ended because of what it sent without a request, or one of many answers that it did
   * not take. `many`: it has more connections open than partners keep; 100 a second, a twentieth of a processor, are enough
   * for offices and load tests. `few`: everybody else, whenever none of the others is due.
   */
  handshakeGapsMs: { abusive: 500, many: 10, few: 0 },
  /**
   * An address's HTTP/2 connections with all the streams there are, and the streams at once of each that is opened beside
   * them, for as long as it lives. Chosen: 2 and 16, because HTTP/2 needs one connection; 1,000 that take nothing of 100
   * answers each took 106 MiB on Node and 159 on Deno with 100 streams for all of them, and 39 and 51 so.
   */
  fullSessionsMax: 2,
  furtherStreamsMax: 16,
  /** Streams at once of a connection that is made by who leaves answers waiting, while half of them wait that may. */
  pressedStreamsMax: 4,
  /**
   * What may come at once without a request. Chosen: 256 KiB, which is what a client's windows let it send of bodies that
   * nobody has read yet, several times over; they take a millisecond or two.
   */
  controlBytesMax: 256 * 1024,
  /** What may come for as long as the connection is open: a PING of 17 bytes a few hundred times a second. */
  controlBytesPerSecond: 4 * 1024,
  /** A body may be framed in as many bytes as it has. */
  framingFactor: 2,
  /** For each answer that is taken: window updates, pings, priorities. */
  answeredBytes: 2 * 1024,
  /** A window update for every few hundred bytes of an answer. */
  sentFraction: 16,
  /** What a request counts for that its client takes back: hundreds at once, then four a second. */
  takenBackBytes: 1024,
  /** A body that comes in ever smaller pieces is cut: each costs as much as one of 16 KiB. */
  bodyPiecesMax: 4_096,
  bodyPieceBytesMin: 64,
  /** What a socket may hold of answers over HTTP/2 before more of them is read. Chosen: less slows down who takes much. */
  heldBytesMax: 256 * 1024,
  /** A body up to this length, announced, is thrown away so that the connection can be kept. */
  keptDiscardBytesMax: 256 * 1024,
} as const;
