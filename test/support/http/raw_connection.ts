/** Exchanges bytes on a socket, for requests that no HTTP client sends. */

import { assertDocumented } from "../contract/contract.ts";
import { Wire } from "./echo.ts";

/** A response as received. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The header lines, one character per byte. */
  readonly head: string;
  readonly body: string;
}

/** Sends bytes (text as one character per byte), reads one response and closes the connection. */
export async function exchangeRaw(
  url: string,
  bytes: string,
  { isOfIntake = true }: { readonly isOfIntake?: boolean } = {},
): Promise<RawAnswer> {
  const wire = await Wire.open(Number(new URL(url).port));
  wire.send(bytes);
  let received = await wire.answer();
  // 100 Continue precedes the response.
  while (received.status < 200) received = await wire.answer();
  wire.socket.destroy();
  const answer = { ...received, body: received.body.toString("latin1") };
  if (isOfIntake) checkContract(bytes, answer);
  return answer;
}

/** Checks the response against the OpenAPI document, as far as the request was valid. */
function checkContract(bytes: string, { status, headers, body: text }: RawAnswer): void {
  const [, method = "-", path = null] =
    /^(\S+) (?:https?:\/\/[^/ ]*)?(\/\S*) HTTP\/1\.[01]\r\n/.exec(bytes) ?? [];
  assertDocumented({ method, path, status, headers, text });
}
