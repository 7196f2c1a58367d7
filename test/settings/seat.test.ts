import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../src/settings/config.ts";
import { readSeat, seatArguments } from "../../src/settings/seat.ts";

const minimal = { DATABASE_URL: "postgres://127.0.0.1/leads", INTAKE_PROCESSES: "4" };
const seat = (number: number) => ({ number, of: 4, lastFailure: null });
const served = (environment: Readonly<Record<string, string>>, number: number) =>
  [...readConfig({ ...minimal, ...environment }, null, seat(number)).surfaces].sort();

test("a process finds its place in its arguments, and nothing else there gives it one", () => {
  for (const place of [seat(2), { number: 1, of: 16, lastFailure: "exit-code" }]) {
    assert.deepEqual(readSeat(seatArguments(place)), place);
  }
  assert.deepEqual(seatArguments(seat(2)), ["process", "2", "of", "4"]);
  for (
    const args of [[], ["process"], ["process", "2"], ["--process", "2", "of", "4"], [
      "process",
      "x",
      "of",
      "4",
    ]]
  ) {
    assert.equal(readSeat(args), null);
  }
});

test("each process takes leads and forms and delivers; the rest is in the first one", () => {
  assert.deepEqual(served({}, 1), ["delivery", "forms", "intake", "ops", "site", "subscription"]);
  assert.deepEqual(served({}, 2), ["delivery", "forms", "intake"]);
  assert.deepEqual(served({ SURFACES: "forms,ops" }, 4), ["forms"]);
});

test("what shares an address with the intake is served by each", () => {
  const shared = {
    INTAKE_LISTEN: "127.0.0.1:8443",
    INTAKE_URL: "https://intake.example.com",
    SITE_LISTEN: "127.0.0.1:8443",
    SITE_URL: "https://example.com",
  };
  assert.deepEqual(served(shared, 2), ["delivery", "forms", "intake", "site"]);
});

test("a process that takes no posts is alone, whatever the number", () => {
  assert.equal(readConfig({ ...minimal, SURFACES: "subscription,site" }).processes, 1);
  assert.equal(readConfig(minimal).processes, 4);
});

test("of several sockets of one name each process has its own, and one is shared; more than processes are a fault", () => {
  const placed = {
    ...minimal,
    INTAKE_PROCESSES: "2",
    SURFACES: "intake,ops",
    INTAKE_LISTEN: "fd:intake",
    INTAKE_URL: "https://intake.example.com",
    OPS_LISTEN: "fd:ops",
  };
  const sockets = new Map([["intake", [3, 4]], ["ops", [5]]]);
  readConfig(placed, sockets);
  assert.deepEqual(readConfig(placed, sockets, seat(1)).sockets.get("intake"), [3]);
  assert.deepEqual(readConfig(placed, sockets, seat(2)).sockets.get("intake"), [4]);
  const one = new Map([["intake", [3]], ["ops", [5]]]);
  assert.deepEqual(readConfig(placed, one, seat(2)).sockets.get("intake"), [3]);
  assert.throws(
    () => readConfig(placed, new Map([["intake", [3, 4, 5]], ["ops", [6]]])),
    /INTAKE_LISTEN: 3 sockets are called intake, and INTAKE_PROCESSES is 2: nobody would answer on the others/,
  );
  // The operator's is one, whatever the number.
  assert.throws(
    () => readConfig(placed, new Map([["intake", [3]], ["ops", [4, 5]]])),
    /OPS_LISTEN: 2 sockets/,
  );
});

for (const wrong of ["0", "65", "-1", "2.5", "two"]) {
  test(`INTAKE_PROCESSES=${wrong} is refused, with what it may be`, () => {
    assert.throws(
      () => readConfig({ ...minimal, INTAKE_PROCESSES: wrong }),
      { faults: ["INTAKE_PROCESSES is not a whole number from 1 to 64"] },
    );
  });
}
