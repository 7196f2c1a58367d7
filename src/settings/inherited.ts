/** Inherited listening sockets (systemd's socket activation), which stay open across restarts and can be shared. */

type Environment = Readonly<Record<string, string | undefined>>;

/** A socket with its unit's `FileDescriptorName=`. */
export interface NamedSocket {
  readonly socket: string;
}

/** Descriptors by name; several if socket units share a name. */
export type InheritedSockets = ReadonlyMap<string, readonly number[]>;

/** systemd's environment variables. */
export const handedNames = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;

const firstDescriptor = 3;
// An upper bound on inherited sockets.
const socketsMax = 100;

/** The socket's name in a setting such as `fd:intake`, or `null`. */
export function socketName(text: string): string | null {
  return /^fd:([^:\s\p{Cc}]{1,255})$/u.exec(text)?.[1] ?? null;
}

/**
 * The sockets passed to the process `pid`; a child's inherited variables do not count.
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
 * Faults of the sockets, one sentence each: named but not inherited, ambiguous, or inherited but unused.
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
      `${variable} is the socket ${socket}, but systemd passed ${others}: ` +
      "add the socket unit with that FileDescriptorName= to Sockets= of the service's unit",
    ];
  });
  const used = new Set(named.map(([, socket]) => socket));
  const unused = [...sockets.keys()].filter((socket) => !used.has(socket));
  return [
    ...faults,
    ...unused.map((socket) =>
      `systemd passed the socket ${socket}, but no setting uses it, so its clients would wait for ever: ` +
      `set a …_LISTEN to fd:${socket}, or remove its unit from Sockets=`
    ),
  ];
}
