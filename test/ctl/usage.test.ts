import assert from "node:assert/strict";
import { test } from "node:test";
import { runCtl } from "../support/server.ts";

// No database listens there, so a command that connects would fail.
const nowhere = { databaseUrl: "postgres://127.0.0.1:1/nowhere" };

test("ctl without a command prints its usage on stderr and exits 2", async () => {
  const { code, stdout, stderr } = await runCtl([], nowhere);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^Usage: ctl GROUP COMMAND/);
});

test("ctl GROUP COMMAND --help prints arguments and options, even with wrong ones, and exits 0", async () => {
  const { code, stdout, stderr } = await runCtl(["key", "issue", "--bogus", "--help"], nowhere);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  assert.match(stdout, /^Usage: ctl key issue SLUG --label LABEL \[--campaign SLUG\]/);
  assert.match(stdout, /--label LABEL +the source of every lead/);
  const list = await runCtl(["lead", "list", "--help"], nowhere);
  assert.match(list.stdout, /TIME is ISO 8601/);
});

test("ctl erase --help, the longest help, has no line of more than 105 characters", async () => {
  const { stdout } = await runCtl(["erase", "--help"], nowhere);
  assert.deepEqual(stdout.split("\n").filter((line) => line.length > 105), []);
});

type WrongUse = readonly [what: string, args: readonly string[], stderr: RegExp];

const wrongMonths = ["2026-13", "november", "26-11"].map((month): WrongUse => [
  `a statement for ${month}`,
  ["statement", "--tenant", "acme", "--month", month],
  /--month must be a year and a month, such as 2026-11: .*\nUsage: ctl statement --tenant SLUG --month YYYY-MM/,
]);

const wrong: readonly WrongUse[] = [
  ["an unknown noun", ["keys", "list"], /Unknown command: keys/],
  ["a group without a command", ["key"], /^Usage: ctl key COMMAND/],
  ["an unknown verb", ["key", "burn"], /Unknown command: key burn/],
  ["a retention without days", ["tenant", "retention", "acme"], /--days or --clear is required/],
  ["a retention of 0 days", ["tenant", "retention", "acme", "--days", "0"], /number from 1 to 3650/],
  [
    "tenant set without options",
    ["tenant", "set", "acme"],
    /Give at least one of --name, --time-zone, --digest and --digest-actions/,
  ],
  [
    "a malformed digest time",
    ["tenant", "set", "acme", "--digest", "7:00"],
    /--digest must be a time of day/,
  ],
  ["an unknown option", ["tenant", "list", "--bogus"], /Unknown option '--bogus'/],
  ["an option twice", ["key", "issue", "a", "--label", "x", "--label", "y"], /--label is given twice/],
  ["an option without its value", ["key", "issue", "a", "--label"], /--label/],
  ["a missing argument", ["tenant", "add"], /SLUG is missing/],
  ["a surplus argument", ["tenant", "add", "a", "b"], /Unexpected argument: b/],
  ["a missing option", ["campaign", "add", "a"], /Missing: --tenant/],
  ["a slug in capitals", ["tenant", "add", "Acme"], /SLUG must be/],
  ["a blank name", ["tenant", "add", "a", "--name", " "], /--name must not be blank/],
  ["a label that reorders text", ["key", "issue", "a", "--label", "x\u202ey"], /control characters/],
  ["a label of 101 characters", ["key", "issue", "a", "--label", "é".repeat(101)], /longer than 100/],
  ["an unknown surface", ["key", "issue", "a", "--label", "x", "--surface", "web"], /intake or forms/],
  ["an id that is not a number", ["key", "revoke", "x1"], /ID must be a number/],
  ["an incomplete limit", ["key", "limit", "1", "--burst", "2"], /Missing: --per-minute, --until/],
  [
    "a limit and --clear",
    ["key", "limit", "1", "--clear", "--burst", "2"],
    /--clear cannot be combined with --burst/,
  ],
  [
    "an IP limit below the published one",
    ["ip", "limit", "10.0.0.0/8", "--per-minute", "119", "--burst", "200", "--until", "1h"],
    /--per-minute 119 is below the published limit of 120; limits can only be raised/,
  ],
  ["a malformed network", ["ip", "limit", "10.0.0", "--clear"], /CIDR must be an address or a network/],
  ["an IPv4-mapped IPv6 address", ["ip", "limit", "::ffff:10.0.0.1", "--clear"], /must be written as IPv4/],
  ["a date that does not exist", ["lead", "list", "--since", "2026-02-30"], /--since is not a valid time/],
  ["an unknown status", ["vocabulary", "add", "x", "--status", "retired"], /confirmed or proposed/],
  ["a replay with a filter but not all", ["dead", "replay", "a", "--to", "crm"], /--to requires --all/],
  ["an unknown destination", ["dead", "list", "--to", "fax"], /--to must be crm, email or slack: fax/],
  [
    "a span that ends before it begins",
    ["dead", "list", "--since", "1d", "--until", "2d"],
    /--until must be later/,
  ],
  ["a replay of ids and all", ["dead", "replay", "a", "--all"], /--all cannot be combined with EVENT_ID/],
  ["an erasure without a person", ["erase"], /Give exactly one of --email, --phone and --event/],
  ["an erasure with a verb", ["erase", "all", "--email", "a@b.co"], /Unexpected argument: all/],
  ["an erasure of an invalid address", ["erase", "--email", "us"], /--email must be an address with one @/],
  [
    "an erasure of an invalid event id",
    ["erase", "--event", "a@b.co"],
    /--event must be 38 digits .* This looks like an email address/,
  ],
  ["a return without a reason", ["lead", "return", "0".repeat(38)], /Give either --reason or --undo/],
  [
    "a return for an unknown reason",
    ["lead", "return", "0".repeat(38), "--reason", "bored"],
    /--reason must be wrong_number, duplicate, .* or other: bored\nUsage: ctl lead return EVENT_ID/,
  ],
  [
    "a return of what is no event id",
    ["lead", "return", "4711", "--undo"],
    /EVENT_ID must be 38 digits 0-9 and letters a-f\. This looks like an Idempotency-Key/,
  ],
  [
    "a return with an API key in its note",
    ["lead", "return", "0".repeat(38), "--reason", "other", "--note", "lead_live_ghnds0123456789"],
    /^--note must not contain an API key\nUsage/,
  ],
  [
    "a return undone with a note",
    ["lead", "return", "0".repeat(38), "--undo", "--note", "x"],
    /--note cannot be combined with --undo/,
  ],
  ...wrongMonths,
  [
    "a statement with contacts but not as CSV",
    ["statement", "--tenant", "acme", "--month", "2026-11", "--contacts"],
    /--contacts needs --csv/,
  ],
  [
    "certificates for an invalid name",
    ["certificates", "/tmp/x", "--server-name", "a b"],
    /--server-name must be names/,
  ],
  ["completion for another shell", ["completion", "fish"], /The shell must be bash or zsh: fish/],
];

for (const [what, args, message] of wrong) {
  test(`${what} prints the usage on stderr and exits 2`, async () => {
    const { code, stdout, stderr } = await runCtl(args, nowhere);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, message);
    assert.match(stderr, /^Usage: ctl /m);
    assert.doesNotMatch(stderr, /^ +at /m);
  });
}

test("a key given in place of an id is not printed", async () => {
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
