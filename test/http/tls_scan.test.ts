import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { collect } from "../support/output.ts";
import { type App, places, startApp, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const run = promisify(execFile);
const folder = temporaryFolder();

/** Returns the report of sslscan, which shares no code with the runtimes. */
async function scan(app: App): Promise<string> {
  const { stdout } = await within(run("sslscan", ["--xml=-", `127.0.0.1:${app.port}`]), "end of the scan");
  return stdout;
}

/** Returns an attribute of each element that matches `has`. */
function every(xml: string, element: string, attribute: string, has: RegExp = /./): string[] {
  const elements = xml.match(new RegExp(`<${element} [^>]*>`, "g")) ?? [];
  return elements.filter((one) => has.test(one)).map((one) =>
    new RegExp(` ${attribute}="([^"]*)"`).exec(one)?.[1] ?? ""
  );
}

const suites13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
const suites12 = (kind: string) =>
  ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map((rest) =>
    `ECDHE-${kind.toUpperCase()}-${rest}`
  );

/** Connects with openssl and returns its output. */
function speak(app: App, args: readonly string[], input: string): Promise<string> {
  const child = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${app.port}`, ...args]);
  const { both, ended } = collect(child);
  child.stdin.end(input);
  return within(ended.then(both), "end of openssl");
}

for (const place of places) {
  for (const kind of ["ecdsa", "rsa"] as const) {
    describe(`on ${place}, with a certificate for ${kind.toUpperCase()}`, async () => {
      const app = await startApp(place, { tls: selfSigned(folder, `${place}-${kind}`, kind) });
      after(() => app.close());

      test("sslscan finds only TLS 1.2 and 1.3 with forward secret AEAD suites, no renegotiation and no Heartbleed", async () => {
        const xml = await scan(app);
        const versions = every(xml, "protocol", "version", /type="tls" .*enabled="1"/);
        assert.deepEqual(versions.sort(), ["1.2", "1.3"]);
        assert.deepEqual(every(xml, "protocol", "enabled", /type="ssl"/), ["0", "0"]);
        assert.deepEqual(
          every(xml, "cipher", "cipher", /sslversion="TLSv1\.3"/).sort(),
          [...suites13].sort(),
        );
        assert.deepEqual(
          every(xml, "cipher", "cipher", /sslversion="TLSv1\.2"/).sort(),
          suites12(kind).sort(),
        );
        assert.deepEqual(every(xml, "renegotiation", "supported"), ["0"]);
        assert.deepEqual(new Set(every(xml, "heartbleed", "vulnerable")), new Set(["0"]));
        const groups = new Set(every(xml, "group", "name"));
        const strong = ["x25519", "secp256r1 (NIST P-256)", "secp384r1 (NIST P-384)"];
        assert.deepEqual([...groups].filter((group) => !strong.includes(group)), []);
        assert.ok(groups.has("x25519"));
      });

      test("the client's order of cipher suites is used", async () => {
        const orders = [suites12(kind), suites12(kind).reverse()];
        const chosen = await Promise.all(
          orders.map((order) => speak(app, ["-tls1_2", "-cipher", order.join(":")], "")),
        );
        assert.deepEqual(
          chosen.map((said) => /^New, TLSv1\.2, Cipher is (\S+)$/m.exec(said)?.[1]),
          orders.map(([first]) => first),
        );
      });

      test("session tickets allow no early data, and nothing is compressed", async () => {
        // TLS 1.3 sends tickets after the handshake; only a response shows that they arrived.
        const request = "GET /name HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n";
        const said = await speak(app, ["-tls1_3", "-ign_eof"], request);
        assert.match(said, /^\s*Max Early Data: 0$/m);
        assert.doesNotMatch(said, /Max Early Data: [1-9]/);
        assert.match(said, /^Compression: NONE$/m);
      });
    });
  }
}
