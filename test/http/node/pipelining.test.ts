import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { get, places, post, startApp, Wire } from "../../support/http/echo.ts";
import { selfSigned } from "../../support/authority.ts";
import { temporaryFolder } from "../../support/folder.ts";

const files = selfSigned(temporaryFolder(), "pipelining");

for (const place of places) {
  for (const tls of [false, true]) {
    describe(`on ${place} ${tls ? "with" : "without"} TLS`, async () => {
      const app = await startApp(place, tls ? { tls: files } : {});
      after(() => app.close());

      const release = async () => {
        const wire = await Wire.open(app.port, { tls });
        wire.send(post("/release", ""));
        assert.equal((await wire.answer()).status, 200);
        wire.socket.destroy();
      };

      test("an upgrade request is its connection's last one", async () => {
        const wire = await Wire.open(app.port, { tls });
        const inner = get("/seen?smuggled");
        const outer = post("/echo", inner);
        const head = outer.slice(0, -inner.length);
        wire.send(get("/name", "Connection: Upgrade", "Upgrade: websocket") + head);
        const answer = await wire.answer();
        assert.equal(answer.status, 200);
        assert.match(String(answer.headers["connection"]), /close/);
        wire.send(inner);
        assert.equal((await wire.closed()).byteLength, 0);
        await app.access(({ route }) => route === "/name");
      });

      test("a client that never reads gets one response, however many requests it pipelines", async () => {
        const wire = await Wire.open(app.port, { tls });
        wire.socket.once("data", () => wire.socket.pause());
        wire.send(get("/stream?100000", "X-Request-Id: unread").repeat(10));
        await new Promise((resolve) => wire.socket.once("data", resolve));
        for (let asked = 0; asked < 20; asked++) await release();
        wire.socket.destroy();
        assert.equal((await app.access(({ route }) => route === "/stream")).aborted, true);
        await app.next("cancelled");
        await release();
        const more = app.events.filter((event) =>
          event.event === "cancelled" || (event.event === "access" && event.access.route === "/stream")
        );
        assert.deepEqual(more, []);
      });

      test("a client that pipelines too much gets the open response and is closed", async () => {
        const wire = await Wire.open(app.port, { tls });
        wire.send(get("/held") + get("/name").repeat(2_000));
        await app.next("began");
        await release();
        const answer = await wire.answer();
        assert.equal(answer.body.toString(), "held");
        assert.equal(answer.headers["connection"], "close");
        await wire.closed();
        await app.access(({ route }) => route === "/held");
        assert.ok(!app.events.some((event) => event.event === "access" && event.access.route === "/name"));
      });

      // On Deno with TLS the limit on bytes without a request applies instead.
      if (place === "node" || !tls) {
        test("while a request is open, nothing after it is read", async () => {
          const wire = await Wire.open(app.port, { tls });
          wire.send(get("/never", "X-Request-Id: gone"));
          await app.next("began");
          // Far more than the kernel's buffers.
          const ahead = get("/files/" + "x".repeat(8_000));
          wire.send(ahead.repeat(4_000));
          for (let asked = 0; asked < 50; asked++) await release();
          assert.ok(wire.socket.writableLength > 0);
          wire.socket.destroy();
        });
      }
    });
  }
}
