/**
 * Loaded before a program (`--import`), it sets its wall clock off by `CLOCK_OFF_MS` and leaves the monotonic one, as
 * a machine with a wrong clock has it.
 *
 * @module
 */

const offMs = Number(process.env.CLOCK_OFF_MS ?? 0);
const RealDate = Date;

// A function called with `new` may return another object; a class could not be called without.
const OffDate = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + offMs] : args, newTarget),
  apply: () => new RealDate(RealDate.now() + offMs).toString(),
  get: (target, name, receiver) =>
    name === "now" ? () => RealDate.now() + offMs : Reflect.get(target, name, receiver),
});
globalThis.Date = OffDate;
