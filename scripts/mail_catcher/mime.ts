/** Parses an email into its headers, plain text and HTML. */

export interface ParsedMail {
  /** The headers in order, unfolded, with encoded words decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly subject: string;
  /** The plain text; `null` if there is none. */
  readonly text: string | null;
  readonly html: string | null;
}

/** Parses an email; never throws. A part with an unknown encoding is returned as sent. */
export function parseMail(raw: string): ParsedMail {
  const top = parsePart(raw);
  const headers = top.headers.map(([name, value]) => [name, decodeWords(value)] as const);
  const parts = [...leafParts(top, 0)];
  const decodedPart = (type: string) => {
    const part = parts.find((one) => one.type === type);
    return part === undefined ? null : decodeBody(part);
  };
  return {
    headers,
    subject: headers.find(([name]) => name.toLowerCase() === "subject")?.[1] ?? "",
    text: decodedPart("text/plain"),
    html: decodedPart("text/html"),
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

function parsePart(raw: string): Part {
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

/** Yields the parts that contain no other parts. */
function* leafParts(part: Part, depth: number): Generator<Part> {
  if (!part.type.startsWith("multipart/") || part.boundary === null || depth > depthMax) return yield part;
  for (const piece of `\r\n${part.body}`.split(`\r\n--${part.boundary}`).slice(1)) {
    // Two hyphens after the boundary mark the end of the last part.
    if (piece.startsWith("--")) return;
    yield* leafParts(parsePart(piece.replace(/^[ \t]*\r\n/, "")), depth + 1);
  }
}

function decodeBody({ body, encoding, charset }: Part): string {
  if (encoding === "base64") return decodeBytes(Buffer.from(body, "base64"), charset);
  if (encoding === "quoted-printable") {
    return decodeBytes(decodeQuotedPrintable(body.replace(/=[ \t]*\r\n/g, "")), charset);
  }
  return body;
}

function decodeQuotedPrintable(text: string): Uint8Array {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))),
    "latin1",
  );
}

function decodeBytes(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
}

/** Decodes words such as `=?utf-8?Q?caf=C3=A9?=`, and drops the white space between two of them. */
function decodeWords(value: string): string {
  const word = /=\?([\w-]+)\?([QB])\?([^?\s]*)\?=/gi;
  return value.replace(/(\?=)\s+(?==\?)/g, "$1").replace(
    word,
    (_, charset, encoding, text) =>
      encoding.toUpperCase() === "B"
        ? decodeBytes(Buffer.from(text, "base64"), charset)
        : decodeBytes(decodeQuotedPrintable(text.replaceAll("_", " ")), charset),
  );
}
