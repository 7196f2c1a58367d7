/**
 * Work counted in steps, the same on every machine and at every load: what the source executes, by V8's own count of
 * calls and blocks, and what the engine's built-in functions do for it, by the length of what they read and write.
 *
 * Chosen: a step is a block of the source or a try of a regular expression, some nanoseconds; what a character read or
 * written by a built-in function, and what a call back from one costs besides, was measured against that. It is right
 * within a factor of three, and nothing that grows faster than its input stays small in steps.
 *
 * Rejected: the processor's time, which differs by a factor of ten within an hour on a shared machine; a counter in the
 * source, which would count only where somebody thought of it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { Session } from "node:inspector";
import { Backtracking } from "./backtracking.ts";

/** What the source may have executed: itself, and the package that reads phone numbers' countries. */
const counted = /\/(src|node_modules\/libphonenumber-js)\//;

/** Of a built-in function that reads or writes it. */
const characterSteps = 1 / 8;
/** A match, and a call back to the source. */
const callSteps = 20;

let session: Session | null = null;
let nativeSteps = 0;
let isCounting = false;

/** The steps of a run; what it throws is thrown on. Runs may not nest, and end before they return. */
export function countSteps(run: () => unknown): number {
  takeBlocks();
  nativeSteps = 0;
  isCounting = true;
  const restore = natives.map(replace);
  try {
    run();
  } finally {
    for (const undo of restore) undo();
    isCounting = false;
  }
  return Math.round(nativeSteps) + takeBlocks();
}

/** The calls and blocks since the last time. */
function takeBlocks(): number {
  if (session === null) {
    session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }
  let blocks = 0;
  session.post("Profiler.takePreciseCoverage", (fault, { result }) => {
    if (fault !== null) throw fault;
    for (const { url, functions } of result) {
      if (!counted.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    }
  });
  return blocks;
}

/** A built-in function and what a call of it costs. */
interface Native {
  readonly owner: object;
  readonly name: string | symbol;
  readonly make: (original: AnyFunction) => AnyFunction;
}

// deno-lint-ignore no-explicit-any -- it stands for every built-in function there is
type AnyFunction = (this: any, ...args: any[]) => any;

function replace({ owner, name, make }: Native): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
  const original = descriptor.value as AnyFunction;
  Object.defineProperty(owner, name, { ...descriptor, value: make(original) });
  return () => Object.defineProperty(owner, name, descriptor);
}

/** Counts a call by what it was given and what came of it. */
function native(
  owner: object,
  names: readonly string[],
  cost: (self: { readonly length: number }, result: unknown, args: readonly unknown[]) => number,
): Native[] {
  return names.map((name) => ({
    owner,
    name,
    make: (original) =>
      function (...args) {
        const result = original.apply(this, args);
        nativeSteps += 1 + characterSteps * cost(this, result, args);
        return result;
      },
  }));
}

const lengthOf = (value: unknown): number => (value as { length?: number } | null | undefined)?.length ?? 0;

/** How far a search went. */
const searched = (
  { length }: { readonly length: number },
  result: unknown,
  [, from = 0]: readonly unknown[],
) => Math.max(0, result === -1 ? length - Number(from) : Number(result) - Number(from));

/** Marks are put into order by exchanging neighbours, so a run of them costs the square of its length. */
function normalizing(self: { readonly length: number }, result: unknown): number {
  let steps = 16 * (self.length + lengthOf(result));
  let marks = 0;
  for (const character of String(result)) {
    marks = isMark(character) ? marks + 1 : 0;
    steps += marks;
  }
  return steps;
}

const originalTest = RegExp.prototype.test;
const originalExec = RegExp.prototype.exec;

function isMark(character: string): boolean {
  return character >= "\u0300" && withOriginals(() => originalTest.call(/\p{M}/u, character));
}

/** `test` looks for the `exec` of the moment. */
function withOriginals<T>(run: () => T): T {
  const counting = RegExp.prototype.exec;
  RegExp.prototype.exec = originalExec;
  try {
    return run();
  } finally {
    RegExp.prototype.exec = counting;
  }
}

const patterns = new Map<string, Backtracking>();

/** Every built-in function that uses a regular expression calls its `exec`, so this counts all of them. */
function countingExec(pattern: RegExp, text: unknown): RegExpExecArray | null {
  return withOriginals(() => {
    const { lastIndex } = pattern;
    const from = pattern.global || pattern.sticky ? lastIndex : 0;
    const result = originalExec.call(pattern, String(text));
    if (isCounting && from <= String(text).length) {
      const key = `/${pattern.source}/${pattern.flags}`;
      let counting = patterns.get(key);
      if (counting === undefined) patterns.set(key, counting = new Backtracking(pattern));
      const { match, steps } = counting.search(String(text), from);
      nativeSteps += steps + callSteps;
      if ((match?.[0] ?? -1) !== (result?.index ?? -1)) throw new Error(`${key} matches elsewhere`);
    }
    return result;
  });
}

/** In proportion to its digits, and for many of them to the square, as the engine's own documentation of it says. */
function convertingDigits(digits: number): number {
  return digits + digits * digits / 64;
}

const natives: readonly Native[] = [
  ...native(String.prototype, ["normalize"], normalizing),
  ...native(
    String.prototype,
    [
      "replace",
      "replaceAll",
      "toLowerCase",
      "toUpperCase",
      "trim",
      "toWellFormed",
      "split",
      "padEnd",
      "match",
    ],
    ({ length }, result) => length + lengthOf(result),
  ),
  ...native(
    String.prototype,
    ["indexOf", "includes"],
    (self, result, args) => searched(self, typeof result === "boolean" ? result ? 0 : -1 : result, args),
  ),
  ...native(String.prototype, ["lastIndexOf"], ({ length }, result) => length - Number(result)),
  {
    owner: RegExp.prototype,
    name: "exec",
    make: () =>
      function (text) {
        return countingExec(this, text);
      },
  },
  ...native(Array.prototype, ["sort", "toSorted"], ({ length }) => length * Math.ceil(Math.log2(length + 1))),
  ...native(
    Array.prototype,
    ["join", "slice", "includes"],
    ({ length }, result) => length + lengthOf(result),
  ),
  ...native(JSON, ["parse"], (_, __, [text]) => 32 * lengthOf(text)),
  ...native(JSON, ["stringify"], (_, result) => lengthOf(result)),
  // An object of many members is a table that is made anew as it grows.
  ...native(
    Object,
    ["fromEntries", "entries", "keys", "values"],
    (_, result) => 160 * (Array.isArray(result) ? result.length : Reflect.ownKeys(result as object).length),
  ),
  ...native(Buffer, ["concat", "from"], (_, result) => lengthOf(result)),
  ...native(Buffer.prototype, ["indexOf"], searched),
  ...native(
    Buffer.prototype,
    ["toString", "copy"],
    (_, result) => typeof result === "number" ? result : lengthOf(result),
  ),
  ...native(TextDecoder.prototype, ["decode"], (_, result) => lengthOf(result)),
  global(
    "BigInt",
    (original) =>
      Object.assign((value: unknown) => {
        nativeSteps += convertingDigits(typeof value === "string" ? value.length : 1);
        return original(value);
      }, original),
  ),
  global("URLSearchParams", (original) =>
    class extends (original as unknown as typeof URLSearchParams) {
      constructor(query: string) {
        super(query);
        // A value with escapes that are no UTF-8 takes five microseconds, however short it is.
        const escaped = query.split("&").filter((pair) => pair.includes("%"));
        nativeSteps += query.length + 2_000 * escaped.length;
      }
    } as unknown as AnyFunction),
];

function global(name: string, make: (original: AnyFunction) => AnyFunction): Native {
  return { owner: globalThis, name, make };
}
