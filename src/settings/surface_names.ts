/** The names of the surfaces. */

export const publicSurfaces = ["intake", "forms", "subscription", "site"] as const;

export type PublicSurface = (typeof publicSurfaces)[number];

/**
 * Chosen: surfaces that would delay the intake can run in separate processes. The intake's event loop turns (99th
 * percentile, maximum) during 4,000 site reads a second: 4.5 and 6.8 ms in one process, 1.2 and 5.2 ms in two; with eight
 * console windows open: 9.1 and 16 ms in one, 1.3 and 6.0 ms in two.
 */
export const surfaceNames = [...publicSurfaces, "ops", "delivery"] as const;

export type SurfaceName = (typeof surfaceNames)[number];

/** Whether any of these surfaces needs a database; only the site does not. */
export function needsStore(surfaces: ReadonlySet<SurfaceName>): boolean {
  return [...surfaces].some((surface) => surface !== "site");
}
