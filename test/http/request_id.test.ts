import assert from "node:assert/strict";
import { connect } from "node:http2";
import { after, describe, test } from "node:test";
import { places, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place);
    after(() => app.close());
  });
}

test("every refusal carries it, over HTTP/1.1 and HTTP/2", async (t) => {
  const tls = selfSigned(temporaryFolder(), "refusals");
  for (const place of places) {
    const app = await startApp(place, { tls, hosts: ["one.test"], bodyBytesMax: 10 });
    const http2 = connect(`https://127.0.0.1:${app.port}`, {
      rejectUnauthorized: false,
      maxSendHeaderBlockLength: 99_999,
    });
    t.after(() => app.close());
    t.after(() => http2.destroy());
    for (
      const [expected, method, path, lines] of [
        [400, "GET", "/name", { host: "two.test" }],
        [404, "GET", "/nothing", {}],
        [405, "PUT", "/name", {}],
        [413, "POST", "/echo", { "content-length": "11" }],
        [417, "POST", "/echo", { expect: "tea" }],
        [421, "GET", "/name", { ":authority": "three.test" }],
        [431, "GET", "/name", { "x-a": "a".repeat(17_000) }],
        [503, "GET", "/throw", {}],
      ] as const
    ) {
      const headers = { ":authority": "one.test", ...lines, "x-request-id": "mine" };
      const stream = http2.request({ ":method": method, ":path": path, ...headers });
      stream.on("error", () => {});
      if (method === "POST") stream.end("x".repeat(11));
      const answer = await within(
        new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve)),
        `answer of ${expected}`,
      );
      stream.resume();
      assert.deepEqual([answer[":status"], answer["x-request-id"]], [expected, "mine"]);

      const wire = await Wire.open(app.port, { tls: true });
      const { ":authority": host, ...others } = headers;
      const sent = Object.entries(others).map(([name, value]) => `${name}: ${value}`);
      wire.send([`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...sent, "", ""].join("\r\n"));
      const first = await wire.answer();
      assert.equal(first.status, expected);
      // What the parser gave up on has no id that could be believed.
      assert.match(first.headers["x-request-id"] as string, expected === 431 ? /^made-/ : /^mine$/);
      wire.socket.destroy();
    }
  }
});
