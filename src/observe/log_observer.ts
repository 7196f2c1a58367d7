/** Logs requests and the other observations that operators need. */

import type { Access } from "../http/options.ts";
import { describeError } from "../store/pool.ts";
import { type Log, type LogFields, stackFrames } from "./log.ts";
import type { Observation, Observe } from "./observation.ts";

/** Returns an observer that logs observations without the messages of errors, which may quote a lead. */
export function loggingObserver(log: Log): Observe {
  return (observation) => {
    switch (observation.kind) {
      case "request":
        return log.info("request", accessFields(observation));
      case "batch_committed":
      case "batch_failed":
      case "job_succeeded":
      case "post_refused":
      case "post_not_logged":
      case "settled":
      case "tier_failure":
      case "certificate_in_use":
        // These are only counted, if at all; most are too frequent to log.
        return;
      case "key_exposed":
        return log.error(observation.kind, exposedFields(observation));
      case "connections":
        return log.info("connections", { max: observation.max });
      case "runs_as_owner":
        return log.error(observation.kind, ownerFields(observation.role, "lead_service"));
      case "store_writable":
        return log.info(observation.kind);
      case "certificate_renewed":
        return log.info(observation.kind, { files: observation.files, ca: observation.isCaChanged });
      case "client_refused":
        return log.error(observation.kind, { reason: observation.reason, client: observation.clientAddress });
      case "certificate_refused":
        return log.error(observation.kind, {
          files: observation.files,
          cause: describeError(observation.error),
        });
      case "certificate_warning":
        return log.error(observation.kind, certificateFields(observation));
      case "listening":
        return log.info("listening", { surface: observation.surface, url: observation.url });
      case "breaker":
        return logBreaker(log, observation);
      case "retention":
        return log.info("retention", { events: observation.events });
      case "provider_event":
        return log.info("provider_event", providerEventFields(observation));
      case "checkout_failed":
        return log.error("checkout_failed", checkoutFields(observation));
      case "checkout_not_noted":
        return log.error(observation.kind, {
          request_id: observation.requestId,
          checkout: observation.checkout,
        });
      case "commit_warning":
        return log.error("commit_warning", { text: observation.text });
      case "fault":
        return log.error("fault", faultFields(observation));
      case "job_failed":
        return log.error(observation.event, { cause: describeError(observation.error) });
      case "delivery_failure":
        return log.error("delivery_failure", {
          what: observation.what,
          cause: describeError(observation.error),
        });
      default:
        return log.error(observation.kind, { cause: describeError(observation.error) });
    }
  };
}

/** Returns the fields of the warning about a role with more rights than `group`. */
export function ownerFields(role: string, group: string): LogFields {
  return {
    role,
    advice: `use a separate login role that is a member of ${group}; see docs/operating.md`,
  };
}

function exposedFields({ keyId, requestId }: ObservationOf<"key_exposed">): LogFields {
  return {
    request_id: requestId,
    key_id: String(keyId),
    advice: "the key was sent in a URL; issue a new key, then revoke this one",
  };
}

function certificateFields({ files, problem, expiresAt }: ObservationOf<"certificate_warning">): LogFields {
  return { files, problem, expires_at: expiresAt.toISOString() };
}

function logBreaker(log: Log, { failure }: ObservationOf<"breaker">): void {
  if (failure === null) return log.info("breaker", { state: "closed" });
  log.error("breaker", { state: "open", cause: failure.cause, code: failure.code });
}

type ObservationOf<Kind extends Observation["kind"]> = Extract<Observation, { kind: Kind }>;

/** Returns the fields of a request's log line. Source: DECISIONS, Operating it (logs). */
function accessFields(access: Access): LogFields {
  return {
    request_id: access.requestId,
    surface: access.surface,
    method: access.method,
    route: access.route,
    status: access.status,
    duration_ms: Math.round(access.durationMs * 100) / 100,
    bytes: access.bytes,
    client: access.clientAddress,
    key_id: access.keyId,
    ...(access.eventId === null ? {} : { event_id: access.eventId }),
    ...(access.reason === null ? {} : { reason: access.reason }),
    ...(access.aborted ? { aborted: true } : {}),
  };
}

/** Returns the fields of an exception's log line, without the exception's message, which may quote a lead. */
function faultFields({ error, exchange }: ObservationOf<"fault">): LogFields {
  return {
    request_id: exchange?.requestId ?? null,
    route: exchange?.route ?? null,
    name: error instanceof Error ? error.name : typeof error,
    cause: describeError(error),
    stack: stackFrames(error),
  };
}

function providerEventFields({ requestId, change, outcome }: ObservationOf<"provider_event">): LogFields {
  return {
    request_id: requestId,
    event_id: change.eventId,
    type: change.type,
    checkout: change.id,
    outcome,
  };
}

function checkoutFields({ requestId, checkout, failure }: ObservationOf<"checkout_failed">): LogFields {
  const { status, type, code, param, stripeRequestId, tries } = failure;
  return {
    request_id: requestId,
    checkout,
    status,
    type,
    code,
    param,
    provider_request_id: stripeRequestId,
    tries,
  };
}
