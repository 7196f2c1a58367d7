/**
 * What the service's log says of a run of generated requests.
 *
 * @module
 */

/** Events of the log that no request may cause. */
const faultEvents = ["unparsed", "uncaught", "fault", "commit_warning", "log_lines_dropped"];

interface Line {
  readonly event: string;
  readonly surface?: string;
  readonly status?: number;
}

function linesOf(log: string): Line[] {
  return log.split("\n").filter((line) => line !== "").map((line) => {
    try {
      return JSON.parse(line);
    } catch {
      return { event: "unparsed" };
    }
  });
}

/** How many requests were answered how, by surface, one line each. */
export function renderCounts(log: string): string {
  const counts = new Map<string, Map<number, number>>();
  for (const { event, surface = "-", status = 0 } of linesOf(log)) {
    if (event !== "request") continue;
    const ofSurface = counts.get(surface) ?? new Map<number, number>();
    counts.set(surface, ofSurface.set(status, (ofSurface.get(status) ?? 0) + 1));
  }
  let all = 0;
  const lines = [...counts].map(([surface, ofSurface]) => {
    const total = [...ofSurface.values()].reduce((sum, count) => sum + count, 0);
    all += total;
    const statuses = [...ofSurface].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    return `${surface.padEnd(14)}${String(total).padStart(8)}   ${statuses.join(", ")}`;
  });
  return [...lines, `${"all".padEnd(14)}${String(all).padStart(8)}`].join("\n");
}

/** What must not be in the log: a server's fault, or a key. */
export function faultsOf(log: string, keys: readonly string[]): string[] {
  const lines = linesOf(log);
  const events = faultEvents.filter((event) => lines.some((line) => line.event === event));
  const statuses = new Set(
    lines.flatMap(({ status = 0 }) => status >= 500 && status !== 501 ? [status] : []),
  );
  return [
    ...events.map((event) => `the log has the event ${event}`),
    ...[...statuses].map((status) => `a request was answered ${status}`),
    // The random part alone would be as bad.
    ...keys.filter((key) => log.includes(key.slice(10, 42))).map(() => "the log has a key"),
  ];
}
