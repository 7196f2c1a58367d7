import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readActionsConfig } from "../../src/actions/config.ts";
import { ConfigError } from "../../src/settings/reader.ts";
import { Authority, type Issued } from "../support/authority.ts";

let authority: Authority;
let server: Issued;

before(() => {
  authority = new Authority();
  server = authority.issue({ name: "actions", use: "server" });
});

function environment(other: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    ACTIONS_DATABASE_URL: "postgres://actions:hunter2@127.0.0.1/leads",
    ACTIONS_SERVER_CERT_FILE: server.certFile,
    ACTIONS_SERVER_KEY_FILE: server.keyFile,
    ACTIONS_CLIENT_CA_FILE: authority.file,
    ...other,
  };
}

function faultsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readActionsConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}

test("an empty environment reports every missing setting at once", () => {
  const faults = faultsOf({}).join("\n");
  for (const name of ["ACTIONS_DATABASE_URL", "ACTIONS_SERVER_CERT_FILE", "ACTIONS_CLIENT_CA_FILE"]) {
    assert.match(faults, new RegExp(`^${name} is not set`, "m"));
  }
});

const mail = { SMTP_URL: "smtp://127.0.0.1", MAIL_FROM: "leads@intake.example" };
const wrong: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ["a listener without a port", { ACTIONS_LISTEN: "127.0.0.1" }, /^ACTIONS_LISTEN must be address:port/],
  [
    "a metrics listener without a port",
    { ACTIONS_OPS_LISTEN: "::1" },
    /^ACTIONS_OPS_LISTEN must be address:port, such as/,
  ],
  [
    "a public metrics listener",
    { ACTIONS_OPS_LISTEN: "0.0.0.0:9092" },
    /^ACTIONS_OPS_LISTEN is a public address/,
  ],
  ["a listener by name", { ACTIONS_LISTEN: "actions.example:1" }, /^ACTIONS_LISTEN/],
  [
    "another database",
    { ACTIONS_DATABASE_URL: "mysql://a:hunter2@b" },
    /^ACTIONS_DATABASE_URL is not a URL/,
  ],
  ["a missing certificate file", { ACTIONS_SERVER_CERT_FILE: "/nowhere" }, /cannot be read \(ENOENT\)/],
  [
    "a malformed network list",
    { ACTIONS_ALLOWED_NETWORKS: "10.0.0.0/33" },
    /^ACTIONS_ALLOWED_NETWORKS is not/,
  ],
  [
    "a timeout that is not a number",
    { ACTIONS_EFFECT_TIMEOUT_MS: "10s" },
    /^ACTIONS_EFFECT_TIMEOUT_MS is not/,
  ],
  ["a timeout of 0", { ACTIONS_EFFECT_TIMEOUT_MS: "0" }, /^ACTIONS_EFFECT_TIMEOUT_MS is not/],
  ["a timeout of an hour", { ACTIONS_EFFECT_TIMEOUT_MS: "3600000" }, /^ACTIONS_EFFECT_TIMEOUT_MS is not/],
  ["a mail server without a sender", { SMTP_URL: mail.SMTP_URL }, /^MAIL_FROM is not set/],
  ["a sender without a mail server", { MAIL_FROM: mail.MAIL_FROM }, /^SMTP_URL is not set/],
  ["a mail server over HTTP", { ...mail, SMTP_URL: "http://a:hunter2@b" }, /^SMTP_URL is not a URL/],
  ["a mail server with options", { ...mail, SMTP_URL: "smtp://a?pool=true" }, /^SMTP_URL is not a URL/],
  ["a password that is not encoded", { ...mail, SMTP_URL: "smtp://a:hunter2%@b" }, /^SMTP_URL is not/],
  ["an invalid sender", { ...mail, MAIL_FROM: "leads" }, /^MAIL_FROM is not a sender/],
  ["two senders", { ...mail, MAIL_FROM: "a@b.example, c@d.example" }, /^MAIL_FROM is not a sender/],
  [
    "a sender with a line break",
    { ...mail, MAIL_FROM: "A\r\nBcc: x <a@b.example>" },
    /^MAIL_FROM is not a sender/,
  ],
];
for (const [what, env, message] of wrong) {
  test(`${what} is reported without the value's secret`, () => {
    const faults = faultsOf(environment(env));
    assert.equal(faults.length, 1, faults.join("\n"));
    assert.match(faults[0] as string, message);
    assert.doesNotMatch(faults.join("\n"), /hunter2/);
  });
}
