/**
 * The sink as the benchmark sees it: where it is, and what has arrived.
 *
 * @module
 */

import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DevCertificates } from "../dev_certificates.ts";
import { start, stop } from "./children.ts";

/** What has arrived so far. */
export interface Arrived {
  readonly requests: number;
  /** Events, each counted once. */
  readonly distinct: number;
  readonly bodyBytes: number;
  /** Of the first and the last request, in nanoseconds of the machine's monotonic clock; 0 before the first. */
  readonly firstNs: number;
  readonly lastNs: number;
  readonly connections: number;
}

/** A running sink. */
export interface Sink {
  readonly url: string;
  readonly pid: number;
  /**
   * @throws {Error} when something came that is no delivery
   */
  arrived(): Promise<Arrived>;
  /** When each event came for the first time, in nanoseconds. */
  arrivals(): Promise<Map<string, number>>;
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
  const child = start(process.execPath, [script], { env });
  const [said] = await Promise.race([
    once(child.stdout as NodeJS.ReadableStream, "data"),
    once(child, "exit").then(() => {
      throw new Error("The sink did not start");
    }),
  ]);
  const { port, controlPort } = JSON.parse(String(said));
  const control = `http://127.0.0.1:${controlPort}`;
  return {
    url: `${certificates === null ? "http" : "https"}://127.0.0.1:${port}`,
    pid: child.pid as number,
    async arrived() {
      const { fault, ...arrived } = await (await fetch(control)).json();
      if (fault !== "") throw new Error(`The sink: ${fault}`);
      return arrived;
    },
    async arrivals() {
      const text = await (await fetch(`${control}/arrivals`)).text();
      return new Map(
        text.split("\n").filter((line) => line !== "").map((line) => {
          const [id, ns] = line.split(" ");
          return [id as string, Number(ns)];
        }),
      );
    },
    stop: () => stop(child),
  };
}
