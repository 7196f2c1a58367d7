/** Hides secrets in what is stored or shown. */

// A shorter part of a URL or of Base64 could be a word.
const partLengthMin = 8;

/** Replaces every secret, also in its encodings for URLs, JSON, HTML and basic authentication, with `***`. */
export class Mask {
  readonly #texts = new Set<string>();

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string): void {
    for (const form of formsOf(secret)) this.#texts.add(form);
  }

  hide(text: string): string {
    if (text === "") return text;
    // The longest first, because one may contain another.
    const texts = [...this.#texts].sort((a, b) => b.length - a.length);
    return texts.reduce((hidden, secret) => hidden.replaceAll(secret, "***"), text);
  }
}

/** The forms by secret, because every lead of a route needs them. */
const known = new Map<string, readonly string[]>();
const knownMax = 1_000;

function formsOf(secret: string): readonly string[] {
  let forms = known.get(secret);
  if (forms === undefined) {
    const isUrl = /^https:\/\//i.test(secret) && URL.canParse(secret);
    // Of a URL that is a secret, such as a webhook's, the host is shown.
    const all = (isUrl ? urlParts(secret) : [secret]).flatMap(encodings);
    // A set, because most encodings leave most secrets as they are.
    forms = [...new Set(all)].filter((form) => form !== "");
    if (known.size >= knownMax) known.clear();
    known.set(secret, forms);
  }
  return forms;
}

/** Returns what grants access in a URL: its path and query together, and those parts that are long enough. */
function urlParts(text: string): string[] {
  const { href, pathname, search, searchParams } = new URL(text);
  const path = pathname.slice(1);
  const whole = `${path}${search}`;
  if (whole.length < partLengthMin) return [text, href];
  const written = text.replace(/^https:\/\/[^/?#]*\/?/i, "");
  const parts = [path, search.slice(1), ...searchParams.values()];
  return [written, whole, ...parts.filter(({ length }) => length >= partLengthMin)];
}

function encodings(secret: string): string[] {
  const inUrl = new URL("https://crm.example");
  inUrl.search = secret;
  const inForm = new URLSearchParams([["", secret]]).toString().slice(1);
  const percentEncoded = [encodeURIComponent(secret), encodeURI(secret), inUrl.search.slice(1), inForm];
  return [
    secret,
    ...inJson(secret),
    ...inHtml(secret),
    ...percentEncoded,
    ...percentEncoded.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase())),
    Buffer.from(secret).toString("base64"),
    // OAuth clients percent-encode their secret before Base64.
    ...[secret, encodeURIComponent(secret), inForm].flatMap(withinBase64),
  ];
}

// What PHP and Python, Go, .NET and Gson write as `\u00f6` or `\u00F6`.
const unicodeEscaped = [
  /[^\0-\x7f]/g,
  /[<>&]/g,
  /[^\0-\x7f]|[<>&]/g,
  /[^\0-\x7f]|[<>&']|\\"/g,
  /[^\0-\x7f]|[<>&'+`]|\\"/g,
  /[<>&'=]/g,
];

/** Returns a secret in JSON; some encoders also escape `/`. */
function inJson(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const escaped = unicodeEscaped.flatMap((pattern) => {
    const form = plain.replaceAll(
      pattern,
      (char) => `\\u${char.charCodeAt(char.length - 1).toString(16).padStart(4, "0")}`,
    );
    return [form, form.replaceAll(/\\u[0-9a-f]{4}/g, (unit) => `\\u${unit.slice(2).toUpperCase()}`)];
  });
  return [plain, ...escaped].flatMap((form) => [form, form.replaceAll("/", "\\/")]);
}

// Text outside of attributes keeps its quotes; the encoders agree on `&lt;` and the like, but not on the quotes.
const htmlQuotes = [
  ['"', "'"],
  ["&quot;", "'"],
  ["&quot;", "&#39;"],
  ["&quot;", "&#039;"],
  ["&quot;", "&#x27;"],
  ["&quot;", "&apos;"],
  ["&#34;", "&#39;"],
] as const;

/** Returns a secret in HTML. */
function inHtml(secret: string): string[] {
  const text = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return htmlQuotes.map(([double, single]) => text.replaceAll('"', double).replaceAll("'", single));
}

/** Returns what stands for a secret within longer Base64 such as `user:password`, at each of three places in a group. */
function withinBase64(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // The characters at both ends also depend on the neighbors.
    return text.slice(Math.ceil(before * 4 / 3), Math.floor((before + bytes.length) * 4 / 3));
  }).filter(({ length }) => length >= partLengthMin);
}
