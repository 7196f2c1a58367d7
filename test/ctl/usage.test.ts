import assert from "node:assert/strict";
import { test } from "node:test";
import { runCtl } from "../support/server.ts";

// Nothing listens there: a command that asked the store would say so.
const nowhere = { databaseUrl: "postgres://127.0.0.1:1/nowhere" };

test("ctl without a command prints its usage on stderr and exits 2", async () => {
  const { code, stdout, stderr } = await runCtl([], nowhere);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^Usage: ctl NOUN VERB/);
});

test("ctl NOUN VERB --help tells arguments and options, even beside wrong ones, and exits 0", async () => {
  const { code, stdout, stderr } = await runCtl(["key", "issue", "--bogus", "--help"], nowhere);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  assert.match(stdout, /^Usage: ctl key issue SLUG --label LABEL \[--campaign SLUG\]/);
  assert.match(stdout, /--label LABEL +the source of every lead/);
  const list = await runCtl(["lead", "list", "--help"], nowhere);
  assert.match(list.stdout, /TIME is ISO 8601/);
});

const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["an unknown noun", ["keys", "list"], /Unknown command: keys/],
  ["a noun without a verb", ["key"], /^Usage: ctl key VERB/],
  ["an unknown verb", ["key", "burn"], /Unknown command: key burn/],
  ["a retention of nothing", ["tenant", "retention", "acme"], /--days or --clear is missing/],
  ["a retention of no days", ["tenant", "retention", "acme", "--days", "0"], /number from 1 to 3650/],
  [
    "a change of nothing",
    ["tenant", "set", "acme"],
    /--name, --time-zone, --digest or --digest-actions is missing/,
  ],
  [
    "a digest at no time",
    ["tenant", "set", "acme", "--digest", "7:00"],
    /--digest must be a time of the day/,
  ],
  ["an unknown option", ["tenant", "list", "--bogus"], /Unknown option '--bogus'/],
  ["an option twice", ["key", "issue", "a", "--label", "x", "--label", "y"], /--label is given twice/],
  ["an option without its value", ["key", "issue", "a", "--label"], /--label/],
  ["a missing argument", ["tenant", "add"], /SLUG is missing/],
  ["a surplus argument", ["tenant", "add", "a", "b"], /Surplus argument: b/],
  ["a missing option", ["campaign", "add", "a"], /Missing: --tenant/],
  ["a slug in capitals", ["tenant", "add", "Acme"], /SLUG must be/],
  ["a blank name", ["tenant", "add", "a", "--name", " "], /--name must not be blank/],
  ["a label that reorders text", ["key", "issue", "a", "--label", "x\u202ey"], /control characters/],
  ["a label of 101 characters", ["key", "issue", "a", "--label", "é".repeat(101)], /longer than 100/],
  ["an unknown surface", ["key", "issue", "a", "--label", "x", "--surface", "web"], /intake or forms/],
  ["an id that is no number", ["key", "revoke", "x1"], /ID must be a number/],
  ["half a limit", ["key", "limit", "1", "--burst", "2"], /Missing: --per-minute, --until/],
  ["a limit and --clear", ["key", "limit", "1", "--clear", "--burst", "2"], /--clear goes without --burst/],
  [
    "an address's limit below the published one",
    ["ip", "limit", "10.0.0.0/8", "--per-minute", "119", "--burst", "200", "--until", "1h"],
    /--per-minute 119 is below the published 120; limits can only be raised/,
  ],
  ["no address", ["ip", "limit", "10.0.0", "--clear"], /CIDR must be an address or a network/],
  ["IPv4 as IPv6", ["ip", "limit", "::ffff:10.0.0.1", "--clear"], /must be written as IPv4/],
  ["a time of no calendar", ["lead", "list", "--since", "2026-02-30"], /--since is no time/],
  ["an unknown status", ["vocabulary", "add", "x", "--status", "retired"], /confirmed or proposed/],
  ["a replay of ids and all", ["dead", "replay", "a", "--all"], /--all goes without EVENT_ID/],
  ["an erasure of nobody", ["erase"], /Exactly one of --email, --phone and --event is needed/],
  ["an erasure with a verb", ["erase", "all", "--email", "a@b.co"], /Surplus argument: all/],
  ["an erasure of no address", ["erase", "--email", "us"], /--email must be an address with one @/],
  ["an erasure of no event", ["erase", "--event", "a@b.co"], /--event must be an event id/],
  [
    "certificates for no name",
    ["certificates", "/tmp/x", "--server-name", "a b"],
    /--server-name must be names/,
  ],
  ["completion for another shell", ["completion", "fish"], /SHELL must be bash or zsh: fish/],
];

for (const [what, args, message] of wrong) {
  test(`${what} is wrong usage: exit 2, the usage on stderr, and the store is not asked`, async () => {
    const { code, stdout, stderr } = await runCtl(args, nowhere);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, message);
    assert.match(stderr, /^Usage: ctl /m);
    assert.doesNotMatch(stderr, /^ +at /m);
  });
}

test("a key that is pasted in place of its id is not repeated", async () => {
  const key = "lead_live_01234567890123456789012345678901abcdef";
  const pasted = [["key", "revoke", key], ["tenant", "list", key], ["key", "list", `--${key}`], [key], [
    "key",
    key,
  ]];
  for (const args of pasted) {
    const { code, stderr } = await runCtl(args, nowhere);
    assert.equal(code, 2);
    assert.doesNotMatch(stderr, /0123456789/);
  }
});
