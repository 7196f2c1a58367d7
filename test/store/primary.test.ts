import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import type { Pool } from "../../src/store/pool.ts";
import { Primary } from "../../src/store/primary.ts";
import { NoPrimary } from "../../src/store/unavailable.ts";
import { atEnd } from "../support/at_end.ts";
import { ownPostgres } from "../support/database.ts";
import { startStandby } from "../support/faults/standby.ts";
import { openPool } from "../support/pool.ts";
import { until } from "../support/until.ts";

const { server, url } = await ownPostgres();
const standby = await startStandby(server);

/** Takes connections and says nothing, as a frozen machine does. */
const sockets = new Set<Socket>();
const silent = createServer((socket) => sockets.add(socket.on("error", () => {})));
await new Promise<void>((settle) => silent.listen(0, "127.0.0.1", settle));
atEnd(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});
const at = (port: number) => `127.0.0.1:${port}`;
const primaryAt = at(server.port);
const standbyAt = at(standby.server.port);
const silentAt = at((silent.address() as { port: number }).port);
const nobodyAt = at(1);

/** The database's address with these servers. */
const list = (...servers: string[]) => url.replace(primaryAt, servers.join(","));

/** The server that a pool works on. A search is over after a second: on a busy machine the next one may be needed. */
const backend = (pool: Pool) =>
  until(() =>
    pool.run(
      5_000,
      async (sql) => (await sql<{ port: number }[]>`select inet_server_port() as port`)[0]?.port,
    )
  );

/** Waits until a search fails as it should: a server may have said nothing within the second of the first one. */
async function untilFailure(primary: Primary, isMeant: (error: unknown) => void): Promise<void> {
  await until(async () => {
    isMeant(await primary.find().then(() => assert.fail("found"), (error: unknown) => error));
    return true;
  });
}

test("the server that takes writes is found wherever it stands, past a standby, one that is away and one that hangs", async () => {
  for (
    const servers of [[silentAt, nobodyAt, standbyAt, primaryAt], [primaryAt, silentAt], [
      standbyAt,
      primaryAt,
    ]]
  ) {
    const pool = openPool(url, { primary: new Primary(list(...servers)) });
    assert.equal(await backend(pool), server.port);
  }
});

test("when no server takes writes it says of each what is the matter, without the password", async () => {
  const primary = new Primary(list(standbyAt, nobodyAt, silentAt));
  await untilFailure(primary, (error) => {
    assert.ok(error instanceof NoPrimary);
    assert.equal(
      error.message,
      `${standbyAt} is a standby, ${nobodyAt} does not answer (ECONNREFUSED), ${silentAt} does not answer`,
    );
  });
});

// The last: nothing is a standby any more.
test("after a fail-over the new primary is found, and the old one that lives on and takes writes is left, also when it is the only one", async () => {
  const primary = new Primary(list(primaryAt, standbyAt));
  const quick = openPool(url, { primary });
  const patient = openPool(url, { primary });
  assert.equal(await backend(quick), server.port);
  assert.equal(await backend(patient), server.port);
  await standby.promote();
  // Whoever loses a connection has the primary looked for. A rival of the first has a tenth of a second to answer: one that
  // is busier is found by the next search.
  await until(async () => {
    await assert.rejects(quick.run(5_000, (sql) => sql`select pg_terminate_backend(pg_backend_pid())`));
    return await backend(quick) === standby.server.port;
  });
  patient.followPrimary();
  assert.equal(await backend(patient), standby.server.port);

  await standby.server.stop();
  primary.invalidate(await primary.find());
  await untilFailure(primary, (error) => {
    assert.match(String(error), new RegExp(`${primaryAt} was left behind by a failover`));
  });
});
