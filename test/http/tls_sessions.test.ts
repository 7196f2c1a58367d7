import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { type App, get, type OwnPlace, startApp, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const files = selfSigned(temporaryFolder(), "sessions");

interface Visit {
  readonly isReused: boolean;
  readonly status: string;
  /** The last ticket, for the next visit. */
  readonly session: Buffer;
  readonly group: string | undefined;
}

/** Connects, optionally with an earlier visit's session, and sends a request. */
async function visit(
  app: App,
  version: "TLSv1.2" | "TLSv1.3",
  session?: Buffer,
): Promise<Visit> {
  const socket: TLSSocket = connect({
    port: app.port,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    minVersion: version,
    maxVersion: version,
    ...(session === undefined ? {} : { session }),
  });
  let given = session ?? Buffer.alloc(0);
  socket.on("session", (next: Buffer) => given = next);
  const answered = new Promise<string>((resolve, reject) => {
    socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1").split("\r\n")[0] ?? ""));
    socket.once("error", reject);
  });
  socket.once("secureConnect", () => socket.write(get("/name")));
  const status = await within(answered, "answer");
  const { name } = socket.getEphemeralKeyInfo() as { name?: string };
  const visited = { isReused: socket.isSessionReused(), status, session: given, group: name };
  socket.destroy();
  return visited;
}

const ok = "HTTP/1.1 200 OK";

for (const place of ["node process", "deno"] as const satisfies readonly OwnPlace[]) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { tls: files });
    const other = await startApp(place, { tls: files });
    after(() => Promise.all([app.close(), other.close()]));

    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      test(`a session of ${version} is resumed, and another process falls back to a full handshake`, async () => {
        const first = await visit(app, version);
        assert.deepEqual([first.isReused, first.status], [false, ok]);
        const second = await visit(app, version, first.session);
        assert.deepEqual([second.isReused, second.status], [true, ok]);
        const elsewhere = await visit(other, version, first.session);
        assert.deepEqual([elsewhere.isReused, elsewhere.status], [false, ok]);
      });
    }

    test("a capable client gets a post-quantum key exchange", async () => {
      assert.equal((await visit(app, "TLSv1.3")).group, "X25519MLKEM768");
    });
  });
}

test("after the ticket key is replaced, an earlier ticket falls back to a full handshake", async () => {
  // Deno replaces its ticket key every six hours.
  const app = await startApp("node process", { tls: files, bounds: { ticketKeyMs: 200 } });
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const { session } = await visit(app, version);
    const late = await until(async () => {
      const again = await visit(app, version, session);
      return again.isReused ? null : again;
    }, { what: "a handshake in full" });
    assert.equal(late.status, ok);
  }
  await app.close();
});
