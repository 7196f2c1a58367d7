/** Converts between UTC and local time with the runtime's time zone database. */

interface LocalTime {
  /** Such as `2026-11-21`. */
  readonly day: string;
  /** Such as `02:30:05`. */
  readonly clock: string;
  /** Such as `+01:00`. */
  readonly offset: string;
  /** Whether the local time occurs twice because clocks are set back; the offset tells the two instants apart. */
  readonly isAmbiguous: boolean;
}

const dayMs = 86_400_000;
const minuteMs = 60_000;
// Offsets are assumed to change only at multiples of this interval.
const offsetStepMs = 15 * minuteMs;
const cachedOffsetsMax = 4_096;

export class TimeZone {
  readonly name: string;
  #format: Intl.DateTimeFormat | null = null;
  readonly #offsets = new Map<number, number>();

  constructor(name: string) {
    this.name = name;
  }

  offsetMs(atMs: number): number {
    if (this.name === "UTC") return 0;
    const start = Math.floor(atMs / offsetStepMs) * offsetStepMs;
    let offset = this.#offsets.get(start);
    if (offset === undefined) {
      offset = localMsOf(this.#partsAt(start)) - start;
      if (this.#offsets.size >= cachedOffsetsMax) this.#offsets.clear();
      this.#offsets.set(start, offset);
    }
    return offset;
  }

  at(atMs: number): LocalTime {
    const offsetMs = this.offsetMs(atMs);
    const { year, month, day, hour, minute, second } = this.#partsAt(atMs);
    return {
      day: `${padDigits(year, 4)}-${padDigits(month)}-${padDigits(day)}`,
      clock: `${padDigits(hour)}:${padDigits(minute)}:${padDigits(second)}`,
      offset: formatOffset(offsetMs),
      isAmbiguous: this.instantsOf(atMs + offsetMs).length > 1,
    };
  }

  #partsAt(atMs: number): Parts {
    this.#format ??= createFormat(this.name);
    const parts = this.#format.formatToParts(atMs);
    return Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)])) as unknown as Parts;
  }

  /**
   * Returns the instants at which a local time (in milliseconds, as if it were UTC) occurs, earliest first: two for a
   * repeated hour. For a skipped hour, applies the offset from before the change.
   */
  instantsOf(localMs: number): [number, ...number[]] {
    const [before, after] = [this.offsetMs(localMs - dayMs), this.offsetMs(localMs + dayMs)];
    const instants = [...new Set([localMs - before, localMs - after])]
      .filter((atMs) => atMs + this.offsetMs(atMs) === localMs)
      .sort((a, b) => a - b);
    return [instants[0] ?? localMs - before, ...instants.slice(1)];
  }
}

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

function createFormat(name: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
}

function localMsOf({ year, month, day, hour, minute, second }: Parts): number {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function padDigits(number: number, count = 2): string {
  return String(number).padStart(count, "0");
}

function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / minuteMs);
  return `${offsetMs < 0 ? "-" : "+"}${padDigits(Math.floor(minutes / 60))}:${padDigits(minutes % 60)}`;
}

export const utc = new TimeZone("UTC");

const timePattern =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z| ?[+-]\d{2}:?\d{2}| \d{2}:?\d{2})?)?$/i;

/**
 * Parses an ISO 8601 date or time, with `T` or a space, and returns it in UTC; `null` if it is invalid or before 1970.
 * A time without an offset is in `zone`; of two possible instants, the earlier is returned. An offset may start with a
 * space, because a query string decodes `+` as a space.
 */
export function parseTime(text: string, zone: TimeZone = utc): string | null {
  const parts = timePattern.exec(text.trim());
  if (parts === null) return null;
  const [, day = "", clock = "00:00", offset] = parts;
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return null;
  const localMs = Date.parse(`${day}T${clock}Z`);
  if (Number.isNaN(localMs)) return null;
  const atMs = offset === undefined
    ? zone.instantsOf(localMs)[0]
    : Date.parse(`${day}T${clock}${normalizeOffset(offset)}`);
  return atMs >= 0 ? new Date(atMs).toISOString() : null;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Parses a duration such as `90s`, `2h`, `7d` or `2w` to milliseconds; `null` if invalid. */
export function parseDurationMs(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs];
}

function normalizeOffset(offset: string): string {
  if (/^z$/i.test(offset)) return "Z";
  return offset.replace(
    /^ ?([+-]?)(\d{2}):?(\d{2})$/,
    (_, sign, hours, minutes) => `${sign || "+"}${hours}:${minutes}`,
  );
}

const monthPattern = /^2\d{3}-(?:0[1-9]|1[0-2])$/;

/** Returns the month that is `count` months after a month such as `2026-11`. */
export function monthAfter(month: string, count: number): string {
  const start = new Date(`${month}-01`);
  start.setUTCMonth(start.getUTCMonth() + count);
  return start.toISOString().slice(0, 7);
}

/** Returns the local month of an instant, such as `2026-11`. */
export function monthOf(atMs: number, zone: TimeZone): string {
  return zone.at(atMs).day.slice(0, 7);
}

/**
 * Returns the bounds of a month such as `2026-11` in a time zone, as ISO 8601 in UTC; `null` if the text is not a month, or
 * before 2000. A month begins when its first day does: at the first of two midnights, or where a midnight was skipped.
 */
export function monthBounds(month: string, zone: TimeZone): { since: string; until: string } | null {
  if (!monthPattern.test(month)) return null;
  const [since, until] = [month, monthAfter(month, 1)].map((start) =>
    new Date(zone.instantsOf(Date.parse(`${start}-01`))[0]).toISOString()
  ) as [string, string];
  return { since, until };
}
