/** The names of surfaces. */

/** The public surfaces. */
export const publicSurfaces = ["intake", "forms", "subscription", "site"] as const;

/** One of {@linkcode publicSurfaces}. */
export type PublicSurface = (typeof publicSurfaces)[number];

/**
 * Everything a process can serve, so that public reads and the operator's pages can run apart from intake.
 *
 * Chosen: separate processes for surfaces that must not delay the intake. Event loop turns of the intake (99th percentile,
 * longest) beside 4,000 site reads a second: 4.5 and 6.8 ms in one process, 1.2 and 5.2 ms in two; beside eight console
 * windows: 9.1 and 16 ms, 1.3 and 6.0 ms.
 */
export const surfaceNames = [...publicSurfaces, "ops", "delivery"] as const;

/** One of {@linkcode surfaceNames}. */
export type SurfaceName = (typeof surfaceNames)[number];

/** Whether these surfaces need a database; only the site does not. */
export function needsStore(surfaces: ReadonlySet<SurfaceName>): boolean {
  return [...surfaces].some((surface) => surface !== "site");
}
