/**
 * Reads a file of settings as systemd reads an `EnvironmentFile=`.
 *
 * @module
 */

/** Between double quotes a backslash keeps these alone from meaning anything; elsewhere it stays. */
const escapable = '"\\`$';

/**
 * The variables of a file; of one that is set twice, the last value. Empty lines and those that begin with `#` or `;`
 * count for nothing, as does a line without `=`. A value may be in quotes, in parts too; a backslash at a line's end joins
 * the next one to it.
 *
 * Source: systemd.exec(5), EnvironmentFile=.
 */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  let at = 0;
  while (at < text.length) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
    const name = /^([A-Za-z_][A-Za-z0-9_]*)[ \t]*=/.exec(text.slice(at));
    if (name === null) {
      at = skipLine(text, at);
      continue;
    }
    const { value, end } = readValue(text, at + name[0].length);
    variables[name[1] as string] = value;
    at = end;
  }
  return variables;
}

/** A comment goes on when its line ends in a backslash. */
function skipLine(text: string, at: number): number {
  return at + (/^(?:\\\n|[^\n])*\n?/.exec(text.slice(at))?.[0].length ?? 0);
}

function readValue(text: string, start: number): { readonly value: string; readonly end: number } {
  let value = "";
  // What stands bare at the end, without its spaces.
  let kept = 0;
  let at = start;
  let quote = "";
  for (; at < text.length; at += 1) {
    const character = text[at] as string;
    const next = text[at + 1] ?? "";
    if (quote === "" && character === "\n") break;
    if (quote !== "" && character === quote) quote = "";
    else if (quote === "" && (character === '"' || character === "'")) quote = character;
    else if (character === "\\" && quote !== "'") {
      at += 1;
      if (next === "\n") continue;
      value += quote === '"' && !escapable.includes(next) ? `\\${next}` : next;
    } else if (quote === "" && /[ \t\r]/.test(character)) {
      if (value !== "") value += character;
      continue;
    } else value += character;
    kept = value.length;
  }
  return { value: value.slice(0, kept), end: at + 1 };
}
