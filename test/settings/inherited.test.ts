import assert from "node:assert/strict";
import { test } from "node:test";
import { readActionsConfig } from "../../src/actions/config.ts";
import { readConfig } from "../../src/settings/config.ts";
import { type InheritedSockets, inheritedSockets } from "../../src/settings/inherited.ts";
import { ConfigError } from "../../src/settings/reader.ts";
import { Authority } from "../support/authority.ts";

const minimal = { DATABASE_URL: "postgres://127.0.0.1/leads", SURFACES: "intake,forms,ops" };
const placed = {
  ...minimal,
  INTAKE_LISTEN: "fd:intake",
  INTAKE_URL: "https://intake.example.com",
  FORMS_LISTEN: "fd:forms",
  FORMS_URL: "https://forms.example.com",
};
const handed = { LISTEN_PID: "42", LISTEN_FDS: "2", LISTEN_FDNAMES: "intake:forms" };

function faultsOf(environment: Readonly<Record<string, string>>, sockets: InheritedSockets | null) {
  try {
    readConfig(environment, sockets);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
}

test("sockets are found by their systemd names, from descriptor 3", () => {
  assert.deepEqual([...inheritedSockets(handed, 42)], [["intake", [3]], ["forms", [4]]]);
  const sockets = inheritedSockets(handed, 42);
  assert.deepEqual(readConfig(placed, sockets).sockets, sockets);
  assert.deepEqual(readConfig(placed, sockets).intake.listen, { socket: "intake" });
});

test("sockets passed to another process are ignored", () => {
  assert.deepEqual([...inheritedSockets(handed, 43)], []);
  assert.deepEqual([...inheritedSockets({}, 42)], []);
  assert.deepEqual([...inheritedSockets({ ...handed, LISTEN_FDS: "-1" }, 42)], []);
});

test("missing, ambiguous and unused sockets are reported together", () => {
  const sockets = inheritedSockets(
    { ...handed, LISTEN_FDS: "3", LISTEN_FDNAMES: "intake:intake:site" },
    42,
  );
  const [several, missing, unused, ...more] = faultsOf(placed, sockets);
  assert.match(several ?? "", /^INTAKE_LISTEN: 2 sockets are named intake; .*FileDescriptorName=/);
  assert.match(
    missing ?? "",
    /^FORMS_LISTEN names the socket forms, but systemd passed only intake, site/,
  );
  assert.match(unused ?? "", /^systemd passed the socket site, .*fd:site/);
  assert.deepEqual(more, []);
  assert.match(faultsOf(placed, new Map())[0] ?? "", /systemd passed no socket/);
});

test("surfaces on one socket need different hosts, and ops needs a separate socket", () => {
  const one = { ...placed, FORMS_LISTEN: "fd:intake" };
  const sockets = inheritedSockets({ ...handed, LISTEN_FDS: "1" }, 42);
  assert.deepEqual(faultsOf(one, sockets), []);
  assert.deepEqual(faultsOf({ ...one, FORMS_URL: one.INTAKE_URL }, sockets), [
    "INTAKE_URL and FORMS_URL have the same host and share a listen address",
  ]);
  assert.deepEqual(faultsOf({ ...one, OPS_LISTEN: "fd:intake" }, sockets), [
    "OPS_LISTEN and INTAKE_LISTEN are the same address; choose another address for OPS_LISTEN",
    "OPS_LISTEN and FORMS_LISTEN are the same address; choose another address for OPS_LISTEN",
  ]);
});

test("an address that is neither address:port nor fd:NAME is an error", () => {
  for (const value of ["fd:", "fd", "fd:a b", "fd:a:b", "FD:intake"]) {
    assert.match(
      faultsOf({ ...placed, INTAKE_LISTEN: value }, null)[0] ?? "",
      /^INTAKE_LISTEN must be /,
      value,
    );
  }
});

test("the actions process accepts a socket, and requires the one it names", () => {
  const authority = new Authority();
  const { certFile, keyFile } = authority.issue({ name: "actions", use: "server" });
  const environment = {
    ACTIONS_DATABASE_URL: "postgres://127.0.0.1/leads",
    ACTIONS_SERVER_CERT_FILE: certFile,
    ACTIONS_SERVER_KEY_FILE: keyFile,
    ACTIONS_CLIENT_CA_FILE: authority.file,
    ACTIONS_LISTEN: "fd:actions",
  };
  const sockets = inheritedSockets({ ...handed, LISTEN_FDS: "1", LISTEN_FDNAMES: "actions" }, 42);
  assert.deepEqual(readActionsConfig(environment, sockets).listen, { socket: "actions" });
  assert.throws(() => readActionsConfig(environment, new Map()), /ACTIONS_LISTEN names the socket actions/);
});
