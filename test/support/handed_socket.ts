/** Listening sockets that are passed to processes as systemd passes those of a socket unit. */

import { atEnd } from "./at_end.ts";

/** The part of Node's TCP handle in use; `net.Server` would accept connections itself. */
interface Handle {
  readonly fd: number;
  bind(address: string, port: number, flags: number): number;
  getsockname(into: { port?: number }): number;
  close(): void;
}

interface TcpWrap {
  readonly TCP: new (type: number) => Handle;
  readonly constants: { readonly SERVER: number };
}

/** A bound socket from which this process accepts no connection; a process that receives it listens on it. */
export interface HandedSocket {
  readonly name: string;
  readonly fd: number;
  readonly url: string;
}

/** Binds a socket to a free port of `address`. */
export function openSocket(name: string, address = "127.0.0.1"): HandedSocket {
  const { TCP, constants } = (process as unknown as { binding(name: "tcp_wrap"): TcpWrap }).binding(
    "tcp_wrap",
  );
  const handle = new TCP(constants.SERVER);
  const code = handle.bind(address, 0, 0);
  if (code !== 0) throw new Error(`${address} cannot be bound (${code})`);
  const bound: { port?: number } = {};
  handle.getsockname(bound);
  atEnd(() => handle.close());
  return { name, fd: handle.fd, url: `http://${address}:${bound.port}` };
}

/** Returns a command prefix that passes the sockets as file descriptors from 3 and keeps the process id. */
export function handOver(sockets: readonly HandedSocket[]): {
  readonly prefix: readonly string[];
  readonly descriptors: readonly number[];
} {
  if (sockets.length === 0) return { prefix: [], descriptors: [] };
  const names = sockets.map(({ name }) => name).join(":");
  const script = `LISTEN_PID=$$ LISTEN_FDS=${sockets.length} LISTEN_FDNAMES=$0 exec "$@"`;
  return { prefix: ["sh", "-c", script, names], descriptors: sockets.map(({ fd }) => fd) };
}
