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

/** A server that accepts connections and never responds, like a hung machine. */
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

/** Returns the database's address with these servers. */
const list = (...servers: string[]) => url.replace(primaryAt, servers.join(","));

/**
 * Returns the port of the server that a pool uses. A search ends after a second, so a busy machine may need another
 * one.
 */
const backend = (pool: Pool) =>
  until(() =>
    pool.run(
      5_000,
      async (sql) => (await sql<{ port: number }[]>`select inet_server_port() as port`)[0]?.port,
    )
  );

/** Waits for the expected failure of a search: a busy server may not respond to the first one within its second. */
async function untilFailure(primary: Primary, isMeant: (error: unknown) => void): Promise<void> {
  await until(async () => {
    isMeant(await primary.find().then(() => assert.fail("found"), (error: unknown) => error));
    return true;
  });
}

test("the writable server is found behind a standby, an unreachable server and one that hangs", async () => {
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

test("without a writable server, the error states each server's problem without the password", async () => {
  const primary = new Primary(list(standbyAt, nobodyAt, silentAt));
  await untilFailure(primary, (error) => {
    assert.ok(error instanceof NoPrimary);
    assert.equal(
      error.message,
      `${standbyAt} is a standby, ${nobodyAt} does not respond (ECONNREFUSED), ${silentAt} does not respond`,
    );
  });
});

// Last, because it leaves no standby.
test("after a failover the new primary is used, and an old primary that still accepts writes is not, even if it is the only one", async () => {
  const primary = new Primary(list(primaryAt, standbyAt));
  const quick = openPool(url, { primary });
  const patient = openPool(url, { primary });
  assert.equal(await backend(quick), server.port);
  assert.equal(await backend(patient), server.port);
  await standby.promote();
  // A lost connection starts a search for the primary. The first server's rivals have a tenth of a second to
  // respond; the next search finds a slower one.
  await until(async () => {
    await assert.rejects(quick.run(5_000, (sql) => sql`select pg_terminate_backend(pg_backend_pid())`));
    return await backend(quick) === standby.server.port;
  });
  patient.followPrimary();
  assert.equal(await backend(patient), standby.server.port);

  await standby.server.stop();
  primary.invalidate(await primary.find());
  await untilFailure(primary, (error) => {
    assert.match(String(error), new RegExp(`${primaryAt} missed a failover`));
  });
});
