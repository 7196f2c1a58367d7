/** Reads the settings for event delivery. */

import type { DeliverySettings } from "../delivery/delivery.ts";
import { isLoopbackHostname } from "../http/addresses.ts";
import type { SettingsReader } from "./reader.ts";
import type { variables } from "./variables.ts";

type Name = keyof typeof variables;
type Reader = SettingsReader<Name>;

export type DeliveryConfig = Omit<DeliverySettings, "node" | "newLease">;

/** Reads the settings; returns `null` if `ACTIONS_URL` is not set. */
export function readDeliveryConfig(read: Reader): DeliveryConfig | null {
  const actionsUrl = read.baseUrl("ACTIONS_URL");
  if (actionsUrl === null) return null;
  const sendTimeoutMs = read.positiveInteger("DELIVERY_SEND_TIMEOUT_MS");
  const leaseMs = read.positiveInteger("DELIVERY_LEASE_MS");
  if (leaseMs <= sendTimeoutMs) {
    read.faults.push("DELIVERY_LEASE_MS must be longer than DELIVERY_SEND_TIMEOUT_MS");
  }
  return {
    actionsUrl,
    files: readActionsFiles(read, actionsUrl),
    sendTimeoutMs,
    leaseMs,
    backoffBaseMs: read.positiveInteger("DELIVERY_BACKOFF_BASE_MS"),
    backoffCapMs: read.positiveInteger("DELIVERY_BACKOFF_CAP_MS"),
    attemptsMax: read.positiveInteger("DELIVERY_ATTEMPTS_MAX"),
    pollMs: read.positiveInteger("DELIVERY_POLL_MS"),
    concurrency: read.positiveInteger("DELIVERY_CONCURRENCY"),
  };
}

function readActionsFiles(read: Reader, actionsUrl: string): DeliveryConfig["files"] {
  const url = URL.canParse(actionsUrl) ? new URL(actionsUrl) : null;
  if (url?.protocol === "http:") {
    // Leads must not be sent unencrypted.
    if (isLoopbackHostname(url.hostname)) return null;
    read.faults.push("ACTIONS_URL must use https: unless it is on this machine");
    return null;
  }
  const names = {
    ca: "ACTIONS_CA_FILE",
    cert: "ACTIONS_CLIENT_CERT_FILE",
    key: "ACTIONS_CLIENT_KEY_FILE",
  } as const;
  read.checkTlsFiles(names, "ACTIONS_URL requires it");
  const file = (name: Name) => read.text(name) ?? "";
  return { certFile: file(names.cert), keyFile: file(names.key), caFile: file(names.ca) };
}
