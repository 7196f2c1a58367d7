/** A DNS server over UDP with responses that a test can change. */

import { createSocket } from "node:dgram";
import { isIPv4 } from "node:net";
import { atEnd } from "../at_end.ts";

/** A listening name server. */
export interface NameServer {
  /** `address:port` */
  readonly address: string;
  /** The queried names, one entry per question. */
  readonly questions: readonly string[];
  /** Returns a name's addresses; `[]` for a name without addresses, `null` to send no response. */
  answer: (name: string) => readonly string[] | null;
  /** The TTL of the responses; 0 by default. */
  ttlSeconds: number;
}

const typeA = 1;
const typeAaaa = 28;

/** Starts a name server on loopback. */
export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  socket.on("message", (query, peer) => {
    const { name, type, end } = readQuestion(query);
    questions.push(name);
    const addresses = server.answer(name);
    if (addresses === null) return;
    const wanted = addresses.filter((address) => isIPv4(address) === (type === typeA));
    const answers = [typeA, typeAaaa].includes(type)
      ? wanted.map((address) => record(address, type, server.ttlSeconds))
      : [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // Flags: response, authoritative, recursion available.
    header.writeUInt16BE(0x8580, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...answers]), peer.port, peer.address);
  });
  await new Promise<void>((settle) => socket.bind(0, "127.0.0.1", settle));
  atEnd(() => socket.close());
  const server: NameServer = {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    answer: () => [],
    ttlSeconds: 0,
  };
  return server;
}

function readQuestion(query: Uint8Array): { name: string; type: number; end: number } {
  const bytes = Buffer.from(query);
  const labels: string[] = [];
  let at = 12;
  for (let length = bytes[at] as number; length !== 0; length = bytes[at] as number) {
    labels.push(bytes.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: bytes.readUInt16BE(at + 1), end: at + 5 };
}

function record(address: string, type: number, ttlSeconds: number): Uint8Array {
  const data = type === typeA ? Buffer.from(address.split(".").map(Number)) : v6Bytes(address);
  const head = Buffer.alloc(12);
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function v6Bytes(address: string): Uint8Array {
  const [left = "", right] = address.split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const before = groups(left);
  const after = groups(right ?? "");
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
