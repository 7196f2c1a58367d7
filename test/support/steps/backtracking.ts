/**
 * Regular expressions matched by plain backtracking, one counted step a try: how much work a pattern is on a text, the
 * same on every machine. Engines skip some of these steps and do none besides, so that what is linear here is linear
 * there, and what is not is seen on a text of a kilobyte.
 *
 * Rejected: comparing the processor's time for a text and for one twice as long, because it needs texts of a megabyte
 * to be sure and says nothing of how much is done; packages that prove patterns linear, because they know no text.
 *
 * @module
 */

/** Where a match ends, or -1. `then` is what has to match behind it. */
type Matcher = (at: number, then: (end: number) => number) => number;

/** What is matched now. */
interface Run {
  text: string;
  steps: number;
  /** Start and end by number of the group. */
  readonly groups: [number, number][];
}

/** A pattern that counts. */
export class Backtracking {
  readonly #run: Run = { text: "", steps: 0, groups: [] };
  readonly #isSticky: boolean;
  readonly #isUnicode: boolean;
  readonly #matcher: Matcher;

  constructor({ source, flags }: { readonly source: string; readonly flags: string }) {
    this.#isSticky = flags.includes("y");
    this.#isUnicode = flags.includes("u");
    this.#matcher = new Compiler(source, flags, this.#run).disjunction();
  }

  /** Searches as `exec` does from an index; returns the match's start and end, or `null`, and the steps it took. */
  search(
    text: string,
    from: number,
  ): { readonly match: readonly [number, number] | null; readonly steps: number } {
    this.#run.text = text;
    this.#run.steps = 0;
    const last = this.#isSticky ? from : text.length;
    for (let start = from; start <= last; start++) {
      this.#run.steps++;
      this.#run.groups.length = 0;
      const end = this.#matcher(start, (found) => found);
      if (end >= 0) return { match: [start, end], steps: this.#run.steps };
      if (this.#isUnicode && (text.codePointAt(start) ?? 0) > 0xffff) start++;
    }
    return { match: null, steps: this.#run.steps };
  }
}

/** Compiles a pattern from left to right; throws on what no pattern of the source uses. */
class Compiler {
  readonly #source: string;
  readonly #flags: string;
  readonly #run: Run;
  #at = 0;
  #groups = 0;

  constructor(source: string, flags: string, run: Run) {
    this.#source = source;
    this.#flags = flags.replace(/[gydv]/g, "");
    if (flags.includes("v")) throw new TypeError("No classes within classes");
    this.#run = run;
  }

  /** Up to the closing parenthesis or the end. */
  disjunction(): Matcher {
    const choices = [this.#alternative()];
    while (this.#take("|")) choices.push(this.#alternative());
    if (choices.length === 1) return choices[0] as Matcher;
    return (at, then) => {
      for (const choice of choices) {
        const end = choice(at, then);
        if (end >= 0) return end;
      }
      return -1;
    };
  }

  #alternative(): Matcher {
    const terms: Matcher[] = [];
    while (this.#at < this.#source.length && !"|)".includes(this.#source.charAt(this.#at))) {
      terms.push(this.#term());
    }
    const from = (index: number, at: number, then: (end: number) => number): number => {
      const term = terms[index];
      return term === undefined ? then(at) : term(at, (end) => from(index + 1, end, then));
    };
    return (at, then) => from(0, at, then);
  }

  #term(): Matcher {
    const look = this.#match(/\(\?(<?)([=!])/y);
    if (look !== null) return this.#look(look[1] === "<", look[2] === "!");
    if (this.#take("(")) return this.#group();
    const assertion = this.#match(/\^|\$|\\b|\\B/y);
    if (assertion !== null) return this.#assertion(assertion[0]);
    const reference = this.#match(/\\([1-9])/y);
    if (reference !== null) return this.#repeated(this.#reference(Number(reference[1])));
    const atom = this.#match(
      /\[(?:\\[^]|[^\]\\])*\]|\\p\{[^}]*\}|\\P\{[^}]*\}|\\u\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[^]|[^]/iuy,
    );
    return this.#repeatedCharacter(this.#width(atom?.[0] as string));
  }

  #group(): Matcher {
    const isCaptured = this.#match(/\?(?::|<\w+>)/y)?.[0] !== "?:";
    const number = isCaptured ? ++this.#groups : 0;
    const inner = this.disjunction();
    if (!this.#take(")")) throw new TypeError(`A group of ${this.#source} does not close`);
    const { groups } = this.#run;
    if (!isCaptured) return this.#repeated(inner);
    return this.#repeated((at, then) =>
      inner(at, (end) => {
        const before = groups[number];
        groups[number] = [at, end];
        const found = then(end);
        if (found < 0) {
          if (before === undefined) delete groups[number];
          else groups[number] = before;
        }
        return found;
      })
    );
  }

  #look(isBehind: boolean, isNegative: boolean): Matcher {
    const start = this.#at;
    const inner = this.disjunction();
    if (!this.#take(")")) throw new TypeError(`A group of ${this.#source} does not close`);
    // Behind: one character, which is all that the source looks back for.
    const before = isBehind ? this.#width(this.#source.slice(start, this.#at - 1)) : () => 0;
    return (at, then) => {
      this.#run.steps++;
      const isThere = isBehind ? before(previous(this.#run.text, at)) > 0 : inner(at, (end) => end) >= 0;
      return isThere === isNegative ? -1 : then(at);
    };
  }

  #assertion(kind: string): Matcher {
    const isLined = this.#flags.includes("m");
    const isBreak = (at: number) => isLined && /[\n\r\u2028\u2029]/.test(this.#run.text.charAt(at));
    const isWord = (at: number) => /\w/.test(this.#run.text.charAt(at));
    const holds: Readonly<Record<string, (at: number) => boolean>> = {
      "^": (at) => at === 0 || isBreak(at - 1),
      "$": (at) => at === this.#run.text.length || isBreak(at),
      "\\b": (at) => isWord(at - 1) !== isWord(at),
      "\\B": (at) => isWord(at - 1) === isWord(at),
    };
    return (at, then) => {
      this.#run.steps++;
      return (holds[kind] as (at: number) => boolean)(at) ? then(at) : -1;
    };
  }

  #reference(number: number): Matcher {
    return (at, then) => {
      const [start, end] = this.#run.groups[number] ?? [0, 0];
      this.#run.steps += end - start + 1;
      const isThere = this.#run.text.startsWith(this.#run.text.slice(start, end), at);
      return isThere ? then(at + end - start) : -1;
    };
  }

  /** How many units of the text at an index an atom of one character takes: 0 when it does not match. */
  #width(atom: string): (at: number) => number {
    // The engine itself says what is in a class.
    const one = new RegExp(`^(?:${atom})$`, this.#flags);
    const known = new Map<string, boolean>();
    const isUnicode = this.#flags.includes("u");
    return (at) => {
      this.#run.steps++;
      const code = at < 0 ? undefined : this.#run.text.codePointAt(at);
      if (code === undefined) return 0;
      const character = isUnicode ? String.fromCodePoint(code) : this.#run.text.charAt(at);
      let matches = known.get(character);
      if (matches === undefined) known.set(character, matches = one.test(character));
      return matches ? character.length : 0;
    };
  }

  #repeatedCharacter(width: (at: number) => number): Matcher {
    const { least, most, isLazy } = this.#quantifier();
    return (at, then) => {
      const ends = [at];
      const more = () => {
        const end = ends.at(-1) as number;
        const units = ends.length > most ? 0 : width(end);
        if (units > 0) ends.push(end + units);
        return units > 0;
      };
      while (ends.length <= least) if (!more()) return -1;
      if (isLazy) {
        do {
          const found = then(ends.at(-1) as number);
          if (found >= 0) return found;
        } while (more());
        return -1;
      }
      while (more());
      for (let count = ends.length - 1; count >= least; count--) {
        const found = then(ends[count] as number);
        if (found >= 0) return found;
      }
      return -1;
    };
  }

  #repeated(inner: Matcher): Matcher {
    const { least, most, isLazy } = this.#quantifier();
    if (least === 1 && most === 1) return inner;
    const from = (count: number, at: number, then: (end: number) => number): number => {
      const again = () =>
        count >= most
          ? -1
          : inner(at, (end) => end === at && count >= least ? -1 : from(count + 1, end, then));
      if (count < least) return again();
      const first = isLazy ? then(at) : again();
      return first >= 0 ? first : isLazy ? again() : then(at);
    };
    return (at, then) => from(0, at, then);
  }

  #quantifier(): { least: number; most: number; isLazy: boolean } {
    const [, sign, least, comma, most] = this.#match(/(?:([*+?])|\{(\d+)(,?)(\d*)\})/y) ?? [];
    const isLazy = (sign !== undefined || least !== undefined) && this.#take("?");
    if (sign !== undefined) {
      return { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity, isLazy };
    }
    if (least === undefined) return { least: 1, most: 1, isLazy };
    return {
      least: Number(least),
      most: comma === "" ? Number(least) : most === "" ? Infinity : Number(most),
      isLazy,
    };
  }

  #take(character: string): boolean {
    const isThere = this.#source.charAt(this.#at) === character;
    if (isThere) this.#at++;
    return isThere;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }
}

/** The index of the character before an index; -1 at the start. */
function previous(text: string, at: number): number {
  const isPair = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 &&
    (text.charCodeAt(at - 2) & 0xfc00) === 0xd800;
  return at - (isPair ? 2 : 1);
}
