/** Folds case, accents and look-alikes, and removes invisible characters. This module is browser compatible. */

/** The code that separates words. */
export const gap = 32;
export const dot = 46;
export const atSign = 64;

/** Letters from other alphabets and special Latin letters, each followed by the plain letter that it resembles. */
const lookAlikes = "аaеeоoрpсcуyхxіiјjѕsԁdԛqԝwһhкkмmтtαaοoρpνvυuιiκkτtχxłlđdøoıiæaœoßsðdþtħh";
/** Matches characters to remove: soft hyphens, zero-width characters, apostrophes, combining marks and similar. */
const invisible =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff'’‘ʼ`´]|\p{M}/u;

/** The folded code of each UTF-16 unit: {@linkcode gap} for a separator, 0 for a character to remove. */
let table: Uint16Array | undefined;

/** Writes a text as letters, digits, `.`, `@` and gaps to `into`, which must be as long; returns the number of codes. */
export function foldInto(into: Uint16Array, text: string): number {
  const folded = table ??= foldTable();
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === 0xd835) {
      into[length++] = foldMathLetter(0x10000 + (unit - 0xd800 << 10) + text.charCodeAt(++index) - 0xdc00);
      continue;
    }
    const code = folded[unit] as number;
    if (code !== 0) into[length++] = code;
  }
  return length;
}

/** Folds a mathematical letter (52 per alphabet) or digit; other code points become gaps. */
function foldMathLetter(point: number): number {
  if (point >= 0x1d7ce && point <= 0x1d7ff) return 48 + (point - 0x1d7ce) % 10;
  return point >= 0x1d400 && point < 0x1d6a4 ? 97 + (point - 0x1d400) % 26 : gap;
}

function foldTable(): Uint16Array {
  const codes = new Uint16Array(0x10000).fill(gap);
  for (let unit = 0; unit < 0x10000; unit++) {
    // Han and Hangul have neither case nor look-alikes.
    if (unit >= 0x3400 && unit < 0xd800) codes[unit] = unit;
    else if (unit < 0x3400 || unit >= 0xf900) codes[unit] = foldUnit(String.fromCharCode(unit));
  }
  for (let index = 0; index < lookAlikes.length; index += 2) {
    const latin = lookAlikes.charCodeAt(index + 1);
    codes[lookAlikes.charCodeAt(index)] = latin;
    codes[lookAlikes.charAt(index).toUpperCase().charCodeAt(0)] = latin;
  }
  codes[dot] = dot;
  codes[atSign] = atSign;
  return codes;
}

function foldUnit(letter: string): number {
  if (invisible.test(letter)) return 0;
  const plain = letter.normalize("NFKD").toLowerCase();
  return /[\p{L}\p{N}]/u.test(plain.charAt(0)) ? plain.charCodeAt(0) : gap;
}
