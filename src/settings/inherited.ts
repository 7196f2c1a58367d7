/**
 * Listening sockets that the process was started with, as systemd's socket units hand them over: they stay open while one
 * process follows another, and two processes may share them.
 *
 * @module
 */

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A listening socket by the name that its socket unit gives it (`FileDescriptorName=`). */
export interface NamedSocket {
  readonly socket: string;
}

/** The descriptors that were handed over, by name: one each, unless socket units share a name. */
export type InheritedSockets = ReadonlyMap<string, readonly number[]>;

/** What systemd tells of them, as variables of the environment. */
export const handedNames = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;

const firstDescriptor = 3;
// systemd's own bound for a unit is the number of files it may open; nobody has this many listeners.
const socketsMax = 100;

/** The name that stands in a setting such as `fd:intake`, or `null` when it names no socket. */
export function socketName(text: string): string | null {
  return /^fd:([^:\s\p{Cc}]{1,255})$/u.exec(text)?.[1] ?? null;
}

/**
 * The sockets of the process `pid`. What was meant for another process, as a child inherits it, is none.
 *
 * Source: sd_listen_fds(3).
 */
export function inheritedSockets(environment: Environment, pid: number): InheritedSockets {
  const sockets = new Map<string, number[]>();
  const { LISTEN_PID, LISTEN_FDS = "", LISTEN_FDNAMES = "" } = environment;
  if (Number(LISTEN_PID) !== pid || !/^\d{1,4}$/.test(LISTEN_FDS)) return sockets;
  const names = LISTEN_FDNAMES.split(":");
  for (let index = 0; index < Math.min(Number(LISTEN_FDS), socketsMax); index += 1) {
    const name = names[index] || "unknown";
    sockets.set(name, [...(sockets.get(name) ?? []), firstDescriptor + index]);
  }
  return sockets;
}

/**
 * What is wrong with the sockets that settings name, one sentence each: one that was not handed over, a name that several have,
 * and one that nobody would answer on.
 */
export function socketFaults(
  named: readonly (readonly [variable: string, socket: string])[],
  sockets: InheritedSockets,
): string[] {
  const faults = named.flatMap(([variable, socket]) => {
    const count = sockets.get(socket)?.length ?? 0;
    if (count === 1) return [];
    if (count > 1) {
      return [
        `${variable}: ${count} sockets are called ${socket}; each needs a FileDescriptorName= of its own`,
      ];
    }
    const others = sockets.size === 0 ? "no socket" : `only ${[...sockets.keys()].join(", ")}`;
    return [
      `${variable} is the socket ${socket}, and systemd has handed over ${others}: ` +
      "the service's unit needs Sockets= with the socket unit whose FileDescriptorName= that is",
    ];
  });
  const used = new Set(named.map(([, socket]) => socket));
  const unused = [...sockets.keys()].filter((socket) => !used.has(socket));
  return [
    ...faults,
    ...unused.map((socket) =>
      `No setting listens on the socket ${socket} that was handed over; its clients would wait for ever: ` +
      `set a …_LISTEN to fd:${socket}, or take its unit out of Sockets=`
    ),
  ];
}
