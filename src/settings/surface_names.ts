/**
 * What a process can serve, by name.
 *
 * @module
 */

/** The public surfaces, as the settings name them. */
export const publicSurfaces = ["intake", "forms", "subscription", "site"] as const;

/** One of {@linkcode publicSurfaces}. */
export type PublicSurface = (typeof publicSurfaces)[number];

/**
 * What a process can serve: {@linkcode publicSurfaces}, the operator's listener, and the delivery loop.
 *
 * Chosen: a process for what must not keep the intake waiting, because the kernel then shares the processor out, whatever
 * a neighbour is asked for. Processor time of a turn of the intake's event loop, 99th percentile and longest, beside
 * 4,000 reads a second of the site: 4.5 and 6.8 ms in one process, 1.2 and 5.2 ms apart, 1.5 and 4.8 ms without them;
 * beside eight windows of the operator's pages: 9.1 and 16 ms, 1.3 and 6.0 ms, 1.7 and 3.7 ms.
 * Rejected: a worker thread for the scorer, because a post's score is bounded by work (`src/forms/spam/score.ts`) and costs
 * less than the hand-over and the second heap would; admission by the loop's remaining time, because it would refuse
 * honest readers for what the operator's pages cost.
 */
export const surfaceNames = [...publicSurfaces, "ops", "delivery"] as const;

/** One of {@linkcode surfaceNames}. */
export type SurfaceName = (typeof surfaceNames)[number];

/** Whether a process that serves these works on the database: the site alone is files. */
export function needsStore(surfaces: ReadonlySet<SurfaceName>): boolean {
  return [...surfaces].some((surface) => surface !== "site");
}
