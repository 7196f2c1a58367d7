/** Reads inherited listening sockets (systemd's socket activation), which stay open across restarts. */

type Environment = Readonly<Record<string, string | undefined>>;

/** An inherited socket, identified by its unit's `FileDescriptorName=`. */
export interface NamedSocket {
  readonly socket: string;
}

/** The file descriptors for each socket name; more than one if socket units share a name. */
export type InheritedSockets = ReadonlyMap<string, readonly number[]>;

/** The environment variables that describe the sockets that systemd passes. */
export const socketVariables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;

const firstDescriptor = 3;
// An upper bound on the number of inherited sockets.
const socketsMax = 100;

/** Returns the socket's name in a setting such as `fd:intake`, or `null`. */
export function socketName(text: string): string | null {
  return /^fd:([^:\s\p{Cc}]{1,255})$/u.exec(text)?.[1] ?? null;
}

/**
 * Returns the sockets passed to the process `pid`; ignores variables meant for another process.
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
 * Returns one sentence per fault: a socket that is named but not inherited, is ambiguous, or is inherited but not named.
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
        `${variable}: ${count} sockets are named ${socket}; give each a different FileDescriptorName=`,
      ];
    }
    const others = sockets.size === 0 ? "no socket" : `only ${[...sockets.keys()].join(", ")}`;
    return [
      `${variable} names the socket ${socket}, but systemd passed ${others}: ` +
      "add the socket unit with that FileDescriptorName= to Sockets= in the service's unit",
    ];
  });
  const used = new Set(named.map(([, socket]) => socket));
  const unused = [...sockets.keys()].filter((socket) => !used.has(socket));
  return [
    ...faults,
    ...unused.map((socket) =>
      `systemd passed the socket ${socket}, but no setting uses it, so clients would wait forever: ` +
      `set a …_LISTEN setting to fd:${socket}, or remove the socket unit from Sockets=`
    ),
  ];
}
