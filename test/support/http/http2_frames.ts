/** Encodes HTTP/2 frames that no client library sends: RFC 9113, section 6. */

import { Buffer } from "node:buffer";

const types = {
  data: 0,
  headers: 1,
  priority: 2,
  rst_stream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window_update: 8,
  continuation: 9,
} as const;

/** The type of a frame, in RFC 9113's words in lower case. */
export type FrameType = keyof typeof types;

/** Returns the type for a number, or `undefined` if it is unknown. */
export function typeOf(number: number): FrameType | undefined {
  return (Object.keys(types) as FrameType[]).find((type) => types[type] === number);
}

const endStream = 0x1;
const endHeaders = 0x4;

/** Returns one frame. */
export function frame(
  type: FrameType,
  { flags = 0, stream = 0, payload = Buffer.alloc(0) }: {
    flags?: number;
    stream?: number;
    payload?: Buffer;
  } = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(types[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns a client's preface and SETTINGS with this window per stream. */
export function preface(windowBytes: number): Buffer {
  const payload = Buffer.alloc(6);
  // SETTINGS_INITIAL_WINDOW_SIZE
  payload.writeUInt16BE(4, 0);
  payload.writeUInt32BE(windowBytes, 2);
  return Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame("settings", { payload })]);
}

/** Returns an unindexed header: its name from the static table, its value as text of at most 127 bytes. */
const literal = (index: number, value: string) =>
  Buffer.concat([Buffer.from([index, value.length]), Buffer.from(value, "latin1")]);

/**
 * Returns `count` GETs of one path on separate streams, starting at stream number `first`. With `isReset` each is
 * reset at once; with `isOpenPost` each is a POST without its body.
 */
export function requests(
  authority: string,
  path: string,
  { count, first = 0, isReset = false, isOpenPost = false }: {
    count: number;
    first?: number;
    isReset?: boolean;
    isOpenPost?: boolean;
  },
): Buffer {
  // The methods and :scheme https are whole in the static table; :authority is its entry 1, :path its entry 4.
  const method = isOpenPost ? 0x83 : 0x82;
  const payload = Buffer.concat([Buffer.from([method, 0x87]), literal(1, authority), literal(4, path)]);
  const cancel = Buffer.from([0, 0, 0, 8]);
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => {
      const stream = 2 * (first + index) + 1;
      const headers = frame("headers", {
        flags: isOpenPost ? endHeaders : endStream | endHeaders,
        stream,
        payload,
      });
      return isReset ? Buffer.concat([headers, frame("rst_stream", { stream, payload: cancel })]) : headers;
    }),
  );
}

/** Returns the same frame of a connection, many times. */
export function flood(type: "window_update" | "ping" | "settings", count: number): Buffer {
  const payload =
    { window_update: Buffer.from([0, 0, 0, 1]), ping: Buffer.alloc(8), settings: Buffer.alloc(0) }[type];
  return Buffer.concat(Array.from({ length: count }, () => frame(type, { payload })));
}
