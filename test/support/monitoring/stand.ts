/**
 * What a test of the monitoring stands on: the service, the actions process and the customers' side, scraped by a real
 * Prometheus with our rules.
 *
 * @module
 */

import { atEnd } from "../at_end.ts";
import { type ActionsStand, actionsStand, type DeliveryStandOptions } from "../faults/delivery_stand.ts";
import type { RunningServer } from "../server.ts";
import { Prometheus } from "./prometheus.ts";

/** The parts. */
export interface MonitoredStand {
  readonly stand: ActionsStand;
  readonly prometheus: Prometheus;
  /** Starts the service, and has it scraped as the job `lead-intake` in place of the one before. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningServer>;
  /** Has the actions process scraped that runs now. */
  watchActions(): void;
}

/** Sets it up; all of it ends with the tests of the file. */
export async function monitoredStand(options: DeliveryStandOptions = {}): Promise<MonitoredStand> {
  const stand = await actionsStand({ ...options, actionsEnv: { ACTIONS_OPS_LISTEN: "127.0.0.1:0" } });
  const prometheus = await Prometheus.open();
  const watchActions = () => {
    const listening = stand.actions.logs.find(({ event, surface }) =>
      event === "listening" && surface === "ops"
    );
    prometheus.watch("lead-actions", String(listening?.url));
  };
  watchActions();
  return {
    stand,
    prometheus,
    watchActions,
    async start(env) {
      const server = await stand.start(env);
      atEnd(() => server.kill());
      prometheus.watch("lead-intake", server.urls.ops as string);
      return server;
    },
  };
}
