/**
 * What answers say: acknowledgements, errors, the vocabulary, and how long to wait.
 *
 * @module
 */

/** What is known of a lead that was taken. */
export interface Acknowledgement {
  readonly event_id: string;
  readonly status: "accepted" | "duplicate";
  readonly received_at: string;
  readonly source: string;
  readonly flags: readonly string[];
}

/** The controlled words, as they are now. */
export interface Vocabulary {
  readonly areas: readonly { readonly area: string; readonly status: string }[];
  readonly services: readonly string[];
  readonly required: readonly string[];
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const areStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** A JSON object, or `null` for anything else. */
export function readObject(text: string): Json | null {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The acknowledgement in a body; `null` when it is none. */
export function readAcknowledgement(body: string): Acknowledgement | null {
  const { event_id, status, received_at, source, flags } = readObject(body) ?? {};
  if (typeof event_id !== "string" || event_id === "") return null;
  if (status !== "accepted" && status !== "duplicate") return null;
  if (typeof received_at !== "string" || typeof source !== "string" || !areStrings(flags)) return null;
  return { event_id, status, received_at, source, flags };
}

/** The vocabulary in a body; `null` when it is none. */
export function readVocabulary(body: string): Vocabulary | null {
  const { project_area, project_service, required } = readObject(body) ?? {};
  if (!Array.isArray(project_area) || !areStrings(project_service) || !areStrings(required)) return null;
  const areas = project_area.filter((item) =>
    typeof item?.area === "string" && typeof item?.status === "string"
  );
  if (areas.length !== project_area.length) return null;
  return { areas: areas.map(({ area, status }) => ({ area, status })), services: project_service, required };
}

/** The error code of an answer of ours; a stranger's answer has none. */
export function readCode(body: string): string | null {
  const code = readObject(body)?.error;
  return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? code : null;
}

/** What is wrong, in the words of an answer of ours; a stranger's answer says nothing. */
export function readDetail(body: string): string | null {
  const detail = readObject(body)?.detail;
  return typeof detail === "string" && readCode(body) !== null ? detail : null;
}

/** The failing fields of a 422; `null` when it does not tell them. */
export function readFields(body: string): Record<string, string> | null {
  const fields = readObject(body)?.fields;
  if (!isObject(fields) || !Object.values(fields).every((reason) => typeof reason === "string")) return null;
  return fields as Record<string, string>;
}

/** `Retry-After` in milliseconds; `null` when it cannot be read. */
export function readRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return null;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

/** `max-age` of a `Cache-Control`, in milliseconds. */
export function readMaxAge(value: string | undefined): number {
  return Number(/(?:^|[\s,])max-age=(\d+)/i.exec(value ?? "")?.[1] ?? 0) * 1000;
}
