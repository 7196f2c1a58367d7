/** Time zones: conversions between moments and wall-clock times, from the runtime's data. */

/** A wall-clock time. */
export interface ShownTime {
  /** `2026-11-21` */
  readonly day: string;
  /** `02:30:05` */
  readonly clock: string;
  /** `+01:00` */
  readonly offset: string;
  /** An ambiguous time: clocks are set back, and the offset decides. */
  readonly isTwice: boolean;
}

const dayMs = 86_400_000;
const minuteMs = 60_000;
// No zone changes in smaller steps.
const changeMs = 15 * minuteMs;
// Caches a page's moments.
const knownMax = 4_096;

/** A zone of the IANA database. */
export class TimeZone {
  readonly name: string;
  #format: Intl.DateTimeFormat | null = null;
  readonly #known = new Map<number, number>();

  constructor(name: string) {
    this.name = name;
  }

  /** The offset from UTC in milliseconds. */
  offsetMs(atMs: number): number {
    if (this.name === "UTC") return 0;
    const start = Math.floor(atMs / changeMs) * changeMs;
    let offset = this.#known.get(start);
    if (offset === undefined) {
      offset = wallMsOf(this.#shown(start)) - start;
      if (this.#known.size >= knownMax) this.#known.clear();
      this.#known.set(start, offset);
    }
    return offset;
  }

  /** The wall-clock time of a moment. */
  at(atMs: number): ShownTime {
    const offsetMs = this.offsetMs(atMs);
    const { year, month, day, hour, minute, second } = this.#shown(atMs);
    return {
      day: `${digits(year, 4)}-${digits(month)}-${digits(day)}`,
      clock: `${digits(hour)}:${digits(minute)}:${digits(second)}`,
      offset: offsetText(offsetMs),
      isTwice: this.momentsOf(atMs + offsetMs).length > 1,
    };
  }

  #shown(atMs: number): Parts {
    this.#format ??= formatOf(this.name);
    const parts = this.#format.formatToParts(atMs);
    return Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)])) as unknown as Parts;
  }

  /**
   * The moments of a wall-clock time (milliseconds as if in UTC), the earliest first: two for a repeated hour; for a
   * skipped one, the moment by the offset before the change.
   */
  momentsOf(wallMs: number): [number, ...number[]] {
    const [before, after] = [this.offsetMs(wallMs - dayMs), this.offsetMs(wallMs + dayMs)];
    const found = [...new Set([wallMs - before, wallMs - after])]
      .filter((atMs) => atMs + this.offsetMs(atMs) === wallMs)
      .sort((a, b) => a - b);
    return [found[0] ?? wallMs - before, ...found.slice(1)];
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

function formatOf(name: string): Intl.DateTimeFormat {
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

function wallMsOf({ year, month, day, hour, minute, second }: Parts): number {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function digits(number: number, count = 2): string {
  return String(number).padStart(count, "0");
}

function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / minuteMs);
  return `${offsetMs < 0 ? "-" : "+"}${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}

/** UTC. */
export const utc = new TimeZone("UTC");

const timeShape =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z| ?[+-]\d{2}:?\d{2}| \d{2}:?\d{2})?)?$/i;

/**
 * Parses an ISO 8601 day or time, with `T` or a space, to ISO 8601 in UTC; otherwise `null`. Without an offset it is in
 * `zone`, the earlier of two. A space is accepted for an offset's plus sign, because queries decode it so.
 */
export function parseTime(text: string, zone: TimeZone = utc): string | null {
  const parts = timeShape.exec(text.trim());
  if (parts === null) return null;
  const [, day = "", clock = "00:00", offset] = parts;
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return null;
  const shown = Date.parse(`${day}T${clock}Z`);
  if (Number.isNaN(shown)) return null;
  const atMs = offset === undefined
    ? zone.momentsOf(shown)[0]
    : Date.parse(`${day}T${clock}${isoOffset(offset)}`);
  return atMs >= 0 ? new Date(atMs).toISOString() : null;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** The milliseconds of a span such as `90s`, `2h`, `7d` or `2w`, or `null`. */
export function parseSpanMs(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs];
}

function isoOffset(offset: string): string {
  if (/^z$/i.test(offset)) return "Z";
  return offset.replace(
    /^ ?([+-]?)(\d{2}):?(\d{2})$/,
    (_, sign, hours, minutes) => `${sign || "+"}${hours}:${minutes}`,
  );
}
