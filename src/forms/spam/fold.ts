/** Folds text: no case, accents, disguises or invisible characters. This module is browser compatible. */

/** The code between words. */
export const gap = 32;
const dot = 46;
const at = 64;

/** Look-alikes from other alphabets, each followed by its Latin letter. */
const lookAlikes = "аaеeоoрpсcуyхxіiјjѕsԁdԛqԝwһhкkмmтtαaοoρpνvυuιiκkτtχxłlđdøoıiæaœoßsðdþtħh";
/** Removed: soft hyphen, zero-width characters, direction and variation marks, apostrophes. */
const invisible =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff'’‘ʼ`´]|\p{M}/u;

/** By UTF-16 unit: the folded code, {@linkcode gap}, or 0 for a removed character. */
let table: Uint16Array | undefined;

/**
 * Folds a text into `into`, at least as long, and returns the number of codes: lower-case letters, digits, `.`, `@`
 * and gaps.
 */
export function foldInto(into: Uint16Array, text: string): number {
  const folded = table ??= foldTable();
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === 0xd835) {
      into[length++] = styled(0x10000 + (unit - 0xd800 << 10) + text.charCodeAt(++index) - 0xdc00);
      continue;
    }
    const code = folded[unit] as number;
    if (code !== 0) into[length++] = code;
  }
  return length;
}

/** Mathematical letters, 52 an alphabet, and digits. */
function styled(point: number): number {
  if (point >= 0x1d7ce && point <= 0x1d7ff) return 48 + (point - 0x1d7ce) % 10;
  return point >= 0x1d400 && point < 0x1d6a4 ? 97 + (point - 0x1d400) % 26 : gap;
}

function foldTable(): Uint16Array {
  const made = new Uint16Array(0x10000).fill(gap);
  for (let unit = 0; unit < 0x10000; unit++) {
    // Han and Hangul have neither case nor look-alikes.
    if (unit >= 0x3400 && unit < 0xd800) made[unit] = unit;
    else if (unit < 0x3400 || unit >= 0xf900) made[unit] = foldUnit(String.fromCharCode(unit));
  }
  for (let index = 0; index < lookAlikes.length; index += 2) {
    const twin = lookAlikes.charCodeAt(index + 1);
    made[lookAlikes.charCodeAt(index)] = twin;
    made[lookAlikes.charAt(index).toUpperCase().charCodeAt(0)] = twin;
  }
  made[dot] = dot;
  made[at] = at;
  return made;
}

function foldUnit(letter: string): number {
  if (invisible.test(letter)) return 0;
  const plain = letter.normalize("NFKD").toLowerCase();
  return /[\p{L}\p{N}]/u.test(plain.charAt(0)) ? plain.charCodeAt(0) : gap;
}
