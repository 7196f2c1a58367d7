/**
 * How the requests in flight are shared among tenants: a tenant may take one more while it has fewer than
 * what is left free. Alone it gets half of all, of two each gets a third, and something is always left for
 * the tenant that comes next, however long the others' requests hang.
 *
 * Chosen: this dynamic threshold (Choudhury and Hahne, 1998) and not a fixed cap, because a fixed cap either
 * slows a tenant that is alone or lets a few hanging ones take everything.
 *
 * This module is browser compatible.
 *
 * @module
 */

/** Whether a tenant with `inFlight` requests may start another, of `total` in flight and `allowed` at once. */
export function mayStart(inFlight: number, total: number, allowed: number): boolean {
  return total < allowed && (inFlight === 0 || inFlight < allowed - total);
}
