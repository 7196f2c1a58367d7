/**
 * Splits what comes over a connection into HTTP/1.1 messages: as little work as possible, so that the sink and
 * the client take no more of the machine than they must. Bodies have a Content-Length.
 *
 * @module
 */

/** Takes a message: everything before the empty line, and the body, which is only valid during the call. */
type TakeMessage = (head: string, body: Uint8Array) => void;

const lengthHeader = /\r\ncontent-length: *(\d+)/i;

/**
 * A function to be given each chunk as it comes.
 *
 * @throws {Error} from that function, when a message has no Content-Length
 */
export function splitMessages(take: TakeMessage): (chunk: Buffer) => void {
  let held: Buffer | undefined;
  return (chunk) => {
    let data = held === undefined ? chunk : Buffer.concat([held, chunk]);
    held = undefined;
    while (data.length > 0) {
      const headEnd = data.indexOf("\r\n\r\n");
      if (headEnd === -1) break;
      const head = data.toString("latin1", 0, headEnd);
      const length = head.startsWith("GET ") ? "0" : lengthHeader.exec(head)?.[1];
      if (length === undefined) {
        throw new Error(`A message without Content-Length:\n${head}`);
      }
      const end = headEnd + 4 + Number(length);
      if (data.length < end) break;
      take(head, data.subarray(headEnd + 4, end));
      data = data.subarray(end);
    }
    if (data.length > 0) held = data;
  };
}
