/** Shared generators of the property tests of the lead modules. */

import process from "node:process";
import fc from "fast-check";

/** The number of runs of each property: `FC_RUNS`, by default few enough for every push. */
export const runs = { numRuns: Number(process.env.FC_RUNS ?? 300) };

/** Generates text of the characters that the rules mention, including lone surrogates, and any others. */
export const messyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...' \t\n\r\v\f\0aZ09.-+()/@,"\\{}[]'),
    fc.constantFrom("\x01", "\x1c", "\x7f", "\x80", "\x85", "\xa0", "\u1680", "\u2028", "\u2029", "\u3000"),
    fc.constantFrom("é", "ß", "İ", "Σ", "\u200b", "\ufeff", "😀", "\ud83d", "\ude00", "٤", "５"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
});

/** Generates the text of a JSON number in any spelling. */
export const numberText = fc.tuple(
  fc.constantFrom("", "-"),
  fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9][0-9]{0,20}$/)),
  fc.oneof(fc.constant(""), fc.stringMatching(/^\.[0-9]{1,20}$/)),
  fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?[0-9]{1,2}$/)),
).map((parts) => parts.join(""));

/** Generates a string literal with some needless escapes. */
export const literalOf = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((escaped) => {
    const units = Array.from({ length: text.length }, (_, at) => {
      const code = text.charCodeAt(at);
      const plain = code >= 0x20 && code !== 0x22 && code !== 0x5c && (code & 0xf800) !== 0xd800;
      return plain && !escaped[at] ? text.charAt(at) : `\\u${code.toString(16).padStart(4, "0")}`;
    });
    return `"${units.join("")}"`;
  });

/** Returns the value of a JSON number as `units × 10^-scale`, independently of the service's code. */
export function exactly(text: string): { units: bigint; scale: bigint } {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    text,
  )!;
  return { units: BigInt(`${sign}${whole}${fraction}`), scale: BigInt(fraction.length) - BigInt(exponent) };
}

/** Compares two JSON numbers exactly. */
export function areEqual(left: string, right: string): boolean {
  const [a, b] = [exactly(left), exactly(right)];
  const shift = a.scale - b.scale;
  return shift >= 0n ? a.units === b.units * 10n ** shift : a.units * 10n ** -shift === b.units;
}
