/**
 * The sink as the benchmark sees it: where it is, and what has arrived.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { DevCertificates } from "../../dev_certificates.ts";
import { node, startProgram } from "../programs.ts";

/** What has arrived so far. */
export interface Arrived {
  readonly requests: number;
  /** Events, each counted once. */
  readonly distinct: number;
  /** Of the first and the last request, in nanoseconds of the machine's monotonic clock; 0 before the first. */
  readonly firstNs: number;
  readonly lastNs: number;
}

/** A running sink. */
export interface Sink {
  readonly url: string;
  readonly pid: number;
  /**
   * @throws {Error} when something came that is no delivery
   */
  arrived(): Promise<Arrived>;
  /**
   * When each event came, in nanoseconds.
   *
   * @throws {Error} when not each of these has come once, and nothing else
   */
  check(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL("sink_main.ts", import.meta.url));

/** Starts a sink: plain HTTP, or mutual TLS with these certificates. */
export async function startSink(certificates: DevCertificates | null): Promise<Sink> {
  const env = certificates === null ? {} : {
    SINK_CA: certificates.caFile,
    SINK_CERT: certificates.serverCertFile,
    SINK_KEY: certificates.serverKeyFile,
  };
  const { pid, urls, stop } = await startProgram("sink", [node, script], { env });
  const control = urls.control as string;
  const arrived = async (): Promise<Arrived> => {
    const { fault, ...arrived } = await (await fetch(control)).json();
    if (fault !== "") throw new Error(`The sink: ${fault}`);
    return arrived;
  };
  return {
    url: urls.sink as string,
    pid,
    arrived,
    async check(ids) {
      const arrivals = new Map<string, number>(await (await fetch(`${control}/arrivals`)).json());
      const missing = [...ids].filter((id) => !arrivals.has(id)).length;
      const { requests } = await arrived();
      if (missing > 0 || arrivals.size !== ids.size || requests !== ids.size) {
        throw new Error(
          `Of ${ids.size} events ${missing} are missing at the sink; ${requests} requests, ${arrivals.size} events`,
        );
      }
      return arrivals;
    },
    stop,
  };
}
