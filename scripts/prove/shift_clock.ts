/**
 * Preloaded with `--import`, shifts a program's wall clock by `CLOCK_OFFSET_MS`, as on a machine with a wrong clock. The monotonic
 * clock is unchanged.
 *
 * @module
 */

const offsetMs = Number(process.env.CLOCK_OFFSET_MS ?? 0);
const RealDate = Date;

// A proxy instead of a subclass, because `Date` can also be called without `new`.
const ShiftedDate = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + offsetMs] : args, newTarget),
  apply: () => new RealDate(RealDate.now() + offsetMs).toString(),
  get: (target, name, receiver) =>
    name === "now" ? () => RealDate.now() + offsetMs : Reflect.get(target, name, receiver),
});
globalThis.Date = ShiftedDate;
