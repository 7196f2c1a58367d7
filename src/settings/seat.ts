/**
 * The place of a process among several that one parent has started, as its command line has it, for it and for whoever
 * reads `ps`: `node src/main.ts process 2 of 4`, and how the one before it failed, `… after SIGKILL`.
 *
 * @module
 */

import type { InheritedSockets } from "./inherited.ts";
import { isSame } from "./places.ts";
import type { ListenPlace } from "./reader.ts";
import type { PublicSurface, SurfaceName } from "./surface_names.ts";

/** Chosen: more than a machine has processors that PostgreSQL could keep up with. Bounds what a slip of the finger starts. */
export const processesMax = 64;

/** One place. */
export interface Seat {
  /** From 1 on. The first one serves what a machine needs once too. */
  readonly number: number;
  readonly of: number;
  /** How the process before it in this place failed, if it did, in a word. */
  readonly lastFailure: string | null;
}

/** The arguments that give a process its place. */
export function seatArguments({ number, of, lastFailure }: Seat): string[] {
  return ["process", String(number), "of", String(of), ...lastFailure === null ? [] : ["after", lastFailure]];
}

/** The place of a process with these arguments; `null` for one that nobody has given any. */
export function readSeat(args: readonly string[]): Seat | null {
  const found = /^process (\d{1,2}) of (\d{1,2})(?: after ([\w-]{1,40}))?$/.exec(args.join(" "));
  if (found === null) return null;
  return { number: Number(found[1]), of: Number(found[2]), lastFailure: found[3] ?? null };
}

/**
 * The sockets that the process in a place listens on, of those that its parent holds: of several with one name, which the
 * kernel spreads the connections over (`ReusePort=`), each has its own; one alone is shared.
 */
function socketsAt({ number }: Seat, sockets: InheritedSockets): InheritedSockets {
  return new Map(
    [...sockets].map(([name, fds]) => [name, fds.filter((_, at) => at === (number - 1) % fds.length)]),
  );
}

/** What is shared out of the settings. */
interface Shared extends Readonly<Record<PublicSurface, { readonly listen: ListenPlace }>> {
  readonly surfaces: ReadonlySet<SurfaceName>;
  readonly sockets: InheritedSockets;
}

/** The settings of a process in its place: its share of surfaces and sockets. What is wrong with them its parent has found. */
export function atSeat<Config extends Shared>(config: Config, seat: Seat): Config {
  const surfaces = seat.number === 1
    ? config.surfaces
    : new Set([...config.surfaces].filter((name) => name === "delivery" || isServedByAll(config, name)));
  return { ...config, surfaces, sockets: socketsAt(seat, config.sockets) };
}

/**
 * Whether each of several processes serves a surface: intake and forms, and what shares a listener with them, because nobody
 * knows beforehand whom a connection is for. The rest is in the first one alone.
 */
export function isServedByAll(config: Shared, name: SurfaceName): name is PublicSurface {
  if (name === "ops" || name === "delivery") return false;
  return (["intake", "forms"] as const).some((post) =>
    config.surfaces.has(post) && (name === post || isSame(config[post].listen, config[name].listen))
  );
}
