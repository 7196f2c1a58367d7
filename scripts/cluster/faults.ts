/**
 * The ways in which a cluster loses its primary.
 *
 * @module
 */

import { again, type Cluster } from "./cluster.ts";
import type { Member } from "./member.ts";

/** A way in which the primary is lost, and how the cluster is made whole again. */
export interface Fault {
  readonly name: string;
  begin(cluster: Cluster, primary: Member): void | Promise<void>;
  /** After leads are accepted again. */
  end?(primary: Member): void;
}

/** All of them. */
export const faults: readonly Fault[] = [
  { name: "postgres killed", begin: (_, primary) => primary.kill("postgres") },
  {
    name: "killed with patroni",
    begin: (_, primary) => primary.kill("all"),
    end: (primary) => primary.start(),
  },
  { name: "frozen", begin: (_, primary) => primary.freeze(), end: (primary) => primary.thaw() },
  {
    name: "cut off from etcd",
    begin: (_, primary) => primary.seat.wire.cut(),
    end: (primary) => primary.seat.wire.mend(),
  },
  {
    name: "switched over",
    // While the store of the cluster is busy, the order is refused and nothing has happened.
    begin: (cluster) => again(() => cluster.switchOver()).then(() => {}),
  },
];
