/**
 * The one version of the kit. This module is browser compatible.
 *
 * @module
 */

/** The kit's version, as its manifest and its `User-Agent` tell it. */
export const version = "0.1.0";
