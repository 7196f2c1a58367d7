import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { renameSync, truncateSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { after, describe, test } from "node:test";
import { makeFolder, openFiles, patterned, put } from "../../support/http/static_folder.ts";
import { places, startApp, within } from "../../support/http/echo.ts";
import { selfSigned } from "../../support/authority.ts";
import { temporaryFolder } from "../../support/folder.ts";

const tls = selfSigned(temporaryFolder(), "first");
const length = 24 * 1024 * 1024;

/** Starts a response over HTTP/2 without reading its body. */
async function begin(on: ClientHttp2Session, headers: Record<string, string>) {
  const stream = on.request(headers);
  stream.on("error", () => {});
  const answer = await within(
    new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve)),
    "response",
  );
  return { stream, answer };
}

/** Reads the rest of a body until the stream closes. */
function rest(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  return within(closed, "end of the body", 30_000).then(() => Buffer.concat(chunks));
}

for (const place of places) {
  describe(`over HTTP/2 on ${place}`, async () => {
    const content = patterned(length, 3);
    const folder = makeFolder({ "small.txt": "small", "large.bin": content });
    const app = await startApp(place, { folder, tls });
    const http2 = connect(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
    http2.on("error", () => {});
    after(async () => {
      http2.destroy();
      await app.close();
    });
    const isOpen = (name: string) => openFiles(app.pid).some((path) => path.endsWith(name));

    test("several files at once arrive complete and with their length", async () => {
      const paths = ["/large.bin", "/small.txt", "/large.bin"];
      const begun = await Promise.all(paths.map((path) => begin(http2, { ":path": path })));
      for (const { stream, answer } of begun) {
        const expected = answer["content-length"] === "5" ? Buffer.from("small") : content;
        assert.equal(answer["content-length"], String(expected.length));
        assert.ok((await rest(stream)).equals(expected));
      }
      assert.ok(!isOpen("large.bin"));
    });

    test("a download of a replaced file completes unchanged, and one of a rewritten file is cut off", async () => {
      const changes = {
        replaced: (path: string) => {
          writeFileSync(`${path}.new`, patterned(length, 4));
          renameSync(`${path}.new`, path);
        },
        rewritten: (path: string) => writeFileSync(path, patterned(length, 4), { flag: "r+" }),
        shorter: (path: string) => truncateSync(path, length / 2),
      };
      for (const [name, change] of Object.entries(changes)) {
        const path = put(folder, `${name}.bin`, content);
        const { stream } = await begin(http2, { ":path": `/${name}.bin` });
        change(path);
        const got = await rest(stream);
        if (name === "replaced") {
          assert.ok(got.equals(content));
          continue;
        }
        assert.ok(got.length < length, name);
        assert.notEqual(stream.rstCode, 0);
        assert.ok(got.equals(content.subarray(0, got.length)), name);
      }
    });
  });
}
