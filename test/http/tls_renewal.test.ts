import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { type App, get, type OwnPlace, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import type { AppEvent } from "../support/http/echo_app.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

/** How often the certificate is swapped. */
const swaps = Number(process.env.TLS_SWAPS ?? 20);
const folder = temporaryFolder();
const pairs = ["one", "two"].map((name) => {
  const { certFile, keyFile } = selfSigned(folder, name);
  return { name, cert: readFileSync(certFile), key: readFileSync(keyFile) };
});

const insecure = { rejectUnauthorized: false };

/** What clients count until they are told to stop. */
interface Load {
  isOver: boolean;
  answers: number;
  connections: number;
  readonly failures: string[];
}

/** Goes on with something, and notes what goes wrong. */
async function keepOn(load: Load, step: () => Promise<void>): Promise<void> {
  while (!load.isOver) {
    try {
      await step();
    } catch (error) {
      load.failures.push(String(error));
    }
  }
}

async function askOnce(wire: Wire, load: Load): Promise<void> {
  wire.send(get("/name"));
  const { status } = await wire.answer();
  if (status !== 200) throw new Error(`Answered ${status}`);
  load.answers++;
}

function askHttp2(session: ReturnType<typeof connectHttp2>, load: Load): Promise<void> {
  return within(
    new Promise((resolve, reject) => {
      const stream = session.request({ ":path": "/name" });
      stream.once("error", reject).resume();
      stream.once("response", ({ ":status": status }) => {
        if (status !== 200) reject(new Error(`Answered ${status}`));
      });
      stream.once("end", () => {
        load.answers++;
        resolve();
      });
    }),
    "answer over HTTP/2",
  );
}

function openHttp2(app: App, load: Load) {
  const session = connectHttp2(`https://127.0.0.1:${app.port}`, insecure);
  session.on("error", (error) => load.failures.push(String(error)));
  session.on("goaway", (code) => load.failures.push(`GOAWAY ${code}`));
  load.connections++;
  return session;
}

/** Clients of both protocols that keep their connection, and others that make one for each request. */
async function start(app: App, load: Load): Promise<{ readonly ended: Promise<unknown> }> {
  const kept = await Wire.open(app.port, { tls: true });
  const keptHttp2 = openHttp2(app, load);
  await askOnce(kept, load);
  await askHttp2(keptHttp2, load);
  load.connections++;
  const ended = Promise.all([
    keepOn(load, () => askOnce(kept, load)).then(() => kept.socket.destroy()),
    keepOn(load, () => askHttp2(keptHttp2, load)).then(() => keptHttp2.close()),
    keepOn(load, async () => {
      const wire = await Wire.open(app.port, { tls: true });
      load.connections++;
      await askOnce(wire, load);
      wire.socket.destroy();
    }),
    keepOn(load, async () => {
      const session = openHttp2(app, load);
      await askHttp2(session, load);
      session.removeAllListeners("goaway").close();
    }),
  ]);
  return { ended };
}

/** The name on the certificate that a new handshake gets. */
async function servedName(app: App): Promise<unknown> {
  const socket: TLSSocket = connect({ port: app.port, host: "127.0.0.1", ...insecure });
  await within(
    new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject)),
    "handshake",
  );
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

for (const place of ["node process", "deno"] as const satisfies readonly OwnPlace[]) {
  describe(`on ${place}`, () => {
    test(`${swaps} renewals under load: no request and no handshake fails, and each new handshake gets the new certificate`, async (t) => {
      const files = { certFile: join(folder, `${place}.pem`), keyFile: join(folder, `${place}.key`) };
      const put = ({ cert, key }: typeof pairs[number]) => {
        // Whole at once, as certbot does; between the two they do not belong together.
        for (const [file, bytes] of [[files.keyFile, key], [files.certFile, cert]] as const) {
          writeFileSync(`${file}.new`, bytes);
          renameSync(`${file}.new`, file);
        }
      };
      put(pairs[0] as typeof pairs[number]);
      const app = await startApp(place, { tls: files, bounds: { certificatePollMs: 20 } });
      const load: Load = { isOver: false, answers: 0, connections: 0, failures: [] };
      const { ended } = await start(app, load);
      const isRenewal = (event: AppEvent): event is AppEvent => event.event === "certificate_renewed";
      for (let swap = 1; swap <= swaps; swap++) {
        const pair = pairs[swap % 2] as typeof pairs[number];
        const { answers, connections } = load;
        put(pair);
        await app.next(isRenewal);
        assert.equal(await servedName(app), pair.name);
        assert.ok(load.answers >= answers && load.connections >= connections);
      }
      await until(() => load.answers > swaps && load.connections > swaps, { what: "a load worth the name" });
      load.isOver = true;
      await ended;
      assert.deepEqual(load.failures, []);
      t.diagnostic(`${swaps} renewals, ${load.answers} answers, ${load.connections} connections`);
      await app.close();
    });
  });
}
