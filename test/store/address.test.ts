import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressFault, namesOf, parseDatabaseUrl, socketPath } from "../../src/store/address.ts";

const servers = (text: string) => namesOf(parseDatabaseUrl(text));

test("one server, with what libpq takes for what is left out", () => {
  const address = parseDatabaseUrl("postgres://ada:s%40cret@db.internal/leads");
  assert.equal(namesOf(address), "db.internal:5432");
  assert.equal(address.user, "ada");
  assert.equal(address.database, "leads");
  assert.equal(address.isPooled, false);
  assert.equal(parseDatabaseUrl("postgresql://ada@h").database, "ada");
  assert.equal(servers("postgres://"), "localhost:5432");
});

test("several servers, each with its port, with one for all, or in the query", () => {
  assert.equal(servers("postgres://u:p@one:5433,two,[::1]:5434/d"), "one:5433, two:5432, [::1]:5434");
  assert.equal(servers("postgres://u:p@one,two/d?port=6000"), "one:6000, two:6000");
  assert.equal(servers("postgres://u:p@/d?host=one,two&port=6000,6001"), "one:6000, two:6001");
});

test("a Unix socket is a folder in the query, or encoded in the server's place", () => {
  for (const text of ["postgres:///d?host=/run/postgresql", "postgres://u@%2Frun%2Fpostgresql/d"]) {
    const [server] = parseDatabaseUrl(text).servers;
    assert.equal(socketPath(server), "/run/postgresql/.s.PGSQL.5432");
  }
  assert.equal(socketPath({ host: "db", port: 5432 }), null);
});

test("what cannot be meant is refused in a sentence that quotes nothing of it", () => {
  const cases = {
    "mysql://u:s3cret@h/d": /^is not a URL such as/,
    "postgres://u:s3cret@h:port/d": /^is not valid: its servers/,
    "postgres://u:s3cret@h:70000/d": /^is not valid: its servers/,
    "postgres://u:s3cret@one,,two/d": /^is not valid: its servers/,
    "postgres://u:s3cret%@h/d": /^has a % that starts no escape/,
    "postgres://u:s3cret@h/d?target_session_attrs=any": /^has a target_session_attrs other than read-write/,
    "postgres://u:s3cret@h/d?pooler=session": /^has a pooler other than transaction/,
    "postgres://u:s3cret@h/d?sslmode=s3cret": /^has an sslmode other than disable/,
    "postgres://u:s3cret@h/d?sslrootcert=/s3cret.pem": /^has an sslrootcert .* needs sslmode=verify-full/,
    "postgres://u:s3cret@h/d?sslmode=prefer&sslrootcert=/s3cret.pem": /^has an sslrootcert /,
  };
  for (const [text, message] of Object.entries(cases)) {
    assert.throws(
      () => parseDatabaseUrl(text),
      (error: unknown) =>
        error instanceof AddressFault && message.test(error.message) && !error.message.includes("s3cret"),
      text,
    );
  }
});
