import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseUrlError, formatServers, parseDatabaseUrl, socketPath } from "../../src/store/address.ts";

const servers = (text: string) => formatServers(parseDatabaseUrl(text));

test("one server, with libpq's defaults for omitted parts", () => {
  const address = parseDatabaseUrl("postgres://ada:s%40cret@db.internal/leads");
  assert.equal(formatServers(address), "db.internal:5432");
  assert.equal(address.user, "ada");
  assert.equal(address.database, "leads");
  assert.equal(address.isPooled, false);
  assert.equal(parseDatabaseUrl("postgresql://ada@h").database, "ada");
  assert.equal(servers("postgres://"), "localhost:5432");
});

test("several servers, with a port each, one port for all, or in the query", () => {
  assert.equal(servers("postgres://u:p@one:5433,two,[::1]:5434/d"), "one:5433, two:5432, [::1]:5434");
  assert.equal(servers("postgres://u:p@one,two/d?port=6000"), "one:6000, two:6000");
  assert.equal(servers("postgres://u:p@/d?host=one,two&port=6000,6001"), "one:6000, two:6001");
});

test("a Unix socket is a folder in the query or percent-encoded as the host", () => {
  for (const text of ["postgres:///d?host=/run/postgresql", "postgres://u@%2Frun%2Fpostgresql/d"]) {
    const [server] = parseDatabaseUrl(text).servers;
    assert.equal(socketPath(server), "/run/postgresql/.s.PGSQL.5432");
  }
  assert.equal(socketPath({ host: "db", port: 5432 }), null);
});

test("an invalid address is refused in a sentence that quotes nothing of it", () => {
  const cases = {
    "mysql://u:s3cret@h/d": /^is not a URL such as/,
    "postgres://u:s3cret@h:port/d": /^has an invalid list of servers/,
    "postgres://u:s3cret@h:70000/d": /^has an invalid list of servers/,
    "postgres://u:s3cret@one,,two/d": /^has an invalid list of servers/,
    "postgres://u:s3cret%@h/d": /^has a % that does not start an escape sequence/,
    "postgres://u:s3cret@h/d?target_session_attrs=any": /^has an unsupported target_session_attrs/,
    "postgres://u:s3cret@h/d?pooler=session": /^has an unsupported pooler/,
    "postgres://u:s3cret@h/d?sslmode=s3cret": /^has an invalid sslmode; the valid values are disable/,
    "postgres://u:s3cret@h/d?sslrootcert=/s3cret.pem": /^has an sslrootcert .* without sslmode=verify-full/,
    "postgres://u:s3cret@h/d?sslmode=prefer&sslrootcert=/s3cret.pem": /^has an sslrootcert /,
  };
  for (const [text, message] of Object.entries(cases)) {
    assert.throws(
      () => parseDatabaseUrl(text),
      (error: unknown) =>
        error instanceof DatabaseUrlError && message.test(error.message) && !error.message.includes("s3cret"),
      text,
    );
  }
});
