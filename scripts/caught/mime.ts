/** Parses a mail into its headers, plain text and HTML. */

/** A parsed mail. */
export interface ReadMail {
  /** In order, unfolded, with encoded words decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly subject: string;
  /** `null` if it has no such part. */
  readonly text: string | null;
  readonly html: string | null;
}

/** Never throws: what cannot be decoded stays as it was sent. */
export function readMail(raw: string): ReadMail {
  const top = readPart(raw);
  const headers = top.headers.map(([name, value]) => [name, decodeWords(value)] as const);
  const parts = [...leavesOf(top, 0)];
  const of = (type: string) => {
    const part = parts.find((one) => one.type === type);
    return part === undefined ? null : decodeBody(part);
  };
  return {
    headers,
    subject: headers.find(([name]) => name.toLowerCase() === "subject")?.[1] ?? "",
    text: of("text/plain"),
    html: of("text/html"),
  };
}

interface Part {
  readonly headers: readonly (readonly [string, string])[];
  /** The media type in lower case. */
  readonly type: string;
  readonly charset: string;
  readonly boundary: string | null;
  readonly encoding: string;
  readonly body: string;
}

const depthMax = 5;

function readPart(raw: string): Part {
  const end = raw.indexOf("\r\n\r\n");
  const head = end === -1 ? raw : raw.slice(0, end);
  const headers = head.replace(/\r\n[ \t]+/g, " ").split("\r\n").flatMap((line) => {
    const colon = line.indexOf(":");
    return colon <= 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()] as const];
  });
  const header = (name: string) => headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? "";
  const [type = "", ...parameters] = header("content-type").split(";").map((text) => text.trim());
  const parameter = (name: string) =>
    parameters.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
      .replace(/^"(.*)"$/, "$1");
  return {
    headers,
    type: type.toLowerCase() || "text/plain",
    charset: parameter("charset") ?? "utf-8",
    boundary: parameter("boundary") ?? null,
    encoding: header("content-transfer-encoding").toLowerCase(),
    body: end === -1 ? "" : raw.slice(end + 4),
  };
}

/** The leaf parts. */
function* leavesOf(part: Part, depth: number): Generator<Part> {
  if (!part.type.startsWith("multipart/") || part.boundary === null || depth > depthMax) return yield part;
  for (const piece of `\r\n${part.body}`.split(`\r\n--${part.boundary}`).slice(1)) {
    // Two hyphens end the last part.
    if (piece.startsWith("--")) return;
    yield* leavesOf(readPart(piece.replace(/^[ \t]*\r\n/, "")), depth + 1);
  }
}

function decodeBody({ body, encoding, charset }: Part): string {
  if (encoding === "base64") return decodeBytes(Buffer.from(body, "base64"), charset);
  if (encoding === "quoted-printable") return decodeBytes(unquote(body.replace(/=[ \t]*\r\n/g, "")), charset);
  return body;
}

/** Decodes quoted-printable. */
function unquote(text: string): Uint8Array {
  const bytes = Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))),
    "latin1",
  );
  return bytes;
}

function decodeBytes(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
}

/** `=?utf-8?Q?caf=C3=A9?=`; white space between two encoded words is dropped. */
function decodeWords(value: string): string {
  const word = /=\?([\w-]+)\?([QB])\?([^?\s]*)\?=/gi;
  return value.replace(/(\?=)\s+(?==\?)/g, "$1").replace(
    word,
    (_, charset, how, text) =>
      how.toUpperCase() === "B"
        ? decodeBytes(Buffer.from(text, "base64"), charset)
        : decodeBytes(unquote(text.replaceAll("_", " ")), charset),
  );
}
