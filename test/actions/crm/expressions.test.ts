import assert from "node:assert/strict";
import process from "node:process";
import { after, test } from "node:test";
import {
  type Expression,
  Expressions,
  type Job,
  type JobResult,
  noThread,
  type Scope,
} from "../../../src/actions/crm/expressions.ts";
import { clocks } from "../../../src/process/deadline_thread.ts";
import { noEarlierPosts } from "../../../src/store/delivery/earlier_posts.ts";
import { acme, event } from "../../support/actions/event.ts";

const expressions = new Expressions(clocks);
after(() => expressions.close());

const extra = JSON.stringify({
  text: "x",
  one: ["a"],
  two: ["a", "b"],
  none: [],
  nothing: null,
  phone: "(512) 555-0123",
  repeated: `${"a".repeat(40)}!`,
}).replace("}", ',"number":1.10,"big":12345678901234567890}');

interface Parts extends Partial<Omit<Job, "scope">> {
  readonly as?: Expression["as"];
  readonly scope?: Partial<Scope>;
  readonly tenant?: string;
  readonly on?: Expressions;
}

/** Evaluates one expression for a lead, by default as JSON, and returns the whole result. */
function evaluate(text: string, parts: Parts = {}): Promise<JobResult> {
  const { as = "value", scope = {}, tenant = "acme", on = expressions, ...job } = parts;
  return on.evaluate(tenant, {
    event: { event: event({ extra }), tenant: acme, isTest: false, earlier: noEarlierPosts },
    secrets: {},
    expressions: [{ name: "json", text, as }],
    ...job,
    scope: { settings: {}, kept: {}, token: "{}", ...scope },
  });
}

/** Returns an expression's value as JSON or text; `null` for none. */
async function valueOf(text: string, parts: Parts = {}): Promise<string | null> {
  const [value] = await evaluate(text, parts) ?? [];
  if (value === undefined || "fault" in value) throw new Error(value?.fault.message ?? "skipped");
  return value.text;
}

/** Like `valueOf`; while no thread is free, as on a busy machine, the job comes back, as its event would. */
async function patientValueOf(text: string, parts: Parts): Promise<string | null> {
  const [value] = await evaluate(text, parts) ?? [];
  if (value?.name === noThread) return await patientValueOf(text, parts);
  return value !== undefined && "text" in value ? value.text : null;
}

async function faultOf(text: string, parts: Parts = {}) {
  const [value] = await evaluate(text, parts) ?? [];
  if (value === undefined || !("fault" in value)) throw new Error(`${text} has no fault`);
  return value.fault;
}

const values: readonly (readonly [text: string, json: string | null])[] = [
  ["$digits('+1 (512) 555-0123')", '"15125550123"'],
  ["$digits(extra.number)", '"110"'],
  ["$digits('none')", '""'],
  ["$digits(extra.missing)", null],
  ["$digits(extra.nothing)", null],
  ["$national(extra.phone)", '"5125550123"'],
  ["$national('+15125550123')", '"5125550123"'],
  ["$national('+44 20 7946 0958')", null],
  ["$national('call me')", null],
  ["$national(extra.missing)", null],
  ["$cut('résumé', 3)", '"rés"'],
  ["$cut('😀😀😀', 2)", '"😀😀"'],
  ["$cut('ab cd', 3)", '"ab"'],
  ["$cut('ab', 0)", '""'],
  ["$cut('ab', 9)", '"ab"'],
  ["$cut(extra.number, 3)", '"1.1"'],
  ["$cut(extra.missing, 3)", null],
  ["$cut(extra.nothing, 3)", null],
  [
    `$html('<a href="x">' & "it's" & ' 1 & 2</a>')`,
    '"&lt;a href=&quot;x&quot;&gt;it&#39;s 1 &amp; 2&lt;/a&gt;"',
  ],
  ["$html('a\\r\\nb\\rc\\n\\nd')", '"a<br>b<br>c<br><br>d"'],
  ["$html(extra.number)", '"1.10"'],
  ["$html(extra.missing)", null],
  ["$html(extra.nothing)", null],
  ["$number(extra.number)", "1.1"],
  ["$number(extra.number) + 1", "2.1"],
  ["$number(' 1e3 ')", "1000"],
  ["$number(true)", "1"],
  ["$number(extra.missing)", null],
  ["$join(extra.two)", '"ab"'],
  ["$join(extra.two, ', ')", '"a, b"'],
  ["$join(extra.missing)", null],
  ["$pad('ab', 4)", '"ab  "'],
  ["$pad('ab', -4, '#')", '"##ab"'],
  ["$pad(extra.missing, 4)", null],
  ["$cents(1250)", '"12.50"'],
  ["$cents(5)", '"0.05"'],
  ["$cents(0)", '"0.00"'],
  ["$cents('1999')", '"19.99"'],
  ["$cents(extra.missing)", null],
  ["$cents(extra.nothing)", null],
  ["$cents('free')", null],
  ["$cents('')", null],
  // New York and Lisbon change to daylight saving time on different days, and Kolkata never.
  [
    "$date('2026-01-15T12:00:00Z', '[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01][Z]', 'America/New_York')",
    '"2026-01-15T07:00:00-05:00"',
  ],
  [
    "$date('2026-07-15T12:00:00Z', '[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01][Z]', 'America/New_York')",
    '"2026-07-15T08:00:00-04:00"',
  ],
  ["$date('2026-03-08T06:59:59Z', '[H01]:[m01] [Z]', 'America/New_York')", '"01:59 -05:00"'],
  ["$date('2026-03-08T07:00:00Z', '[H01]:[m01] [Z]', 'America/New_York')", '"03:00 -04:00"'],
  ["$date('2026-03-20T12:00:00Z', '[H01]:[m01]', 'Europe/Lisbon')", '"12:00"'],
  ["$date('2026-03-29T12:00:00Z', '[H01]:[m01]', 'Europe/Lisbon')", '"13:00"'],
  ["$date('2026-07-15T20:00:00Z', '[D01].[M01].[Y0001] [H01]:[m01]', 'Asia/Kolkata')", '"16.07.2026 01:30"'],
  ["$date('2026-07-15T20:00:00Z', '[MNn] [D], [Y]')", '"July 15, 2026"'],
  ["$date('2026-07-15T20:00:00Z', '[H01]', settings.time_zone)", '"20"'],
  ["$date(extra.missing, '[Y]')", null],
  // Every kind of node that JSONata's parser makes.
  ["$replace('a-b', /[^A-Z]/i, '+')", '"a+b"'],
  ["$match('ab12', /(\\d)(\\d)/).groups", '["1","2"]'],
  ["$map([1, 2], function($x) { $x * 2 })", "[2,4]"],
  ["[3, 1, 2]^(>$)", "[3,2,1]"],
  ["'a' ~> $uppercase ~> $pad(2, '#')", '"A#"'],
  ["{'a': 1, 'b': 2} ~> |$|{'c': 3}, ['a']|", '{"b":2,"c":3}'],
  ["[{'n': 1, 'a': [{'v': 2}]}].a.{'n': %.n, 'v': v}", '{"n":1,"v":2}'],
  ["{'a': [5, 6]}.a#$i.{'i': $i, 'v': $}", '[{"i":0,"v":5},{"i":1,"v":6}]'],
  ["($add := function($a, $b) { $a + $b }; $inc := $add(1, ?); $inc(2))", "3"],
  ["[1..3][$ > 1]", "[2,3]"],
  ["{'a': [1]}.a[]", "[1]"],
  ["[{'k': 'x', 'v': 1}, {'k': 'x', 'v': 2}]{k: $sum(v)}", '{"x":3}'],
  ["extra.missing ? 1 : -$number('2') = null or not_there ?: 'no'", "true"],
];
for (const [text, json] of values) {
  test(`${text} is ${json ?? "nothing"}`, async () => assert.equal(await valueOf(text), json));
}

const faults: readonly (readonly [text: string, message: RegExp])[] = [
  ["$cut('abc')", /^\$cut needs a number of characters$/],
  ["$cut('abc', -1)", /^\$cut needs a number of characters$/],
  ["$cut('abc', settings.length)", /^\$cut needs a number of characters$/],
  ["$date('yesterday', '[Y]')", /^Invalid time value$/],
  ["$date(received_at, '[Y]', 'America/Nowhere')", /^Invalid time zone specified: America\/Nowhere$/],
  ["$date(received_at)", /^\$date needs a format$/],
  ["$nothing()", /^Attempted to invoke a non-function$/],
  ["$number(extra.number & 'x')", /^\$number needs a number$/],
  ["$number('')", /^\$number needs a number$/],
  ["extra.number + 1", /^The left side of the "\+" operator must evaluate to a number$/],
];
for (const [text, message] of faults) {
  test(`${text} is a fault: ${message.source}`, async () => {
    const { message: reported, position } = await faultOf(text);
    assert.match(reported, message);
    assert.ok(position !== null && position > 0 && position <= text.length);
  });
}

test("a missing value leaves its member out, and a list keeps its form with 0, 1 and 2 elements", async () => {
  const text = "{ 'none': [extra.none], 'one': [extra.one], 'two': [extra.two], 'missing': extra.missing }";
  assert.equal(await valueOf(text), '{"none":[],"one":["a"],"two":["a","b"]}');
  // Without the brackets, JSONata turns one element into itself.
  const bare = "{ 'none': extra.none[$ != 'x'], 'one': extra.one[$ != 'x'], 'two': extra.two[$ != 'x'] }";
  assert.equal(await valueOf(bare), '{"one":"a","two":["a","b"]}');
  const mapped =
    "{ 'none': [extra.none.{ 'v': $ }], 'one': [extra.one.{ 'v': $ }], 'two': [extra.two.{ 'v': $ }] }";
  assert.equal(await valueOf(mapped), '{"none":[],"one":[{"v":"a"}],"two":[{"v":"a"},{"v":"b"}]}');
});

test("numbers that a double cannot hold keep their digits in JSON, in texts and in forms", async () => {
  assert.equal(
    await valueOf("{ 'a': extra.big, 'b': [extra.number] }", { as: "json" }),
    '{"a":12345678901234567890,"b":[1.10]}',
  );
  assert.equal(await valueOf("'n=' & extra.big", { as: "text" }), "n=12345678901234567890");
  assert.equal(
    await valueOf("{ 'a': extra.big, 'b': 5, 'c': extra.missing }", { as: "form" }),
    "a=12345678901234567890&b=5",
  );
});

test("a form is encoded, without names that could add fields", async () => {
  const value = await valueOf("{ 'a&b': 'c=d&é +', 'e': true, 'f': null }", { as: "form" });
  assert.equal(value, "a%26b=c%3Dd%26%C3%A9+%2B&e=true&f=");
  assert.deepEqual([...new URLSearchParams(value ?? "")], [["a&b", "c=d&é +"], ["e", "true"], ["f", ""]]);
});

test("texts and forms have no lists and objects", async () => {
  assert.equal((await faultOf("extra.two", { as: "text" })).message, "The value must be a text");
  assert.equal((await faultOf("{ 'a': extra.two }", { as: "form" })).message, "The field a must be a text");
  assert.equal((await faultOf("'a=b'", { as: "form" })).message, "The value must be an object");
});

test("functions whose result would differ on a retry are refused, also under another name", async () => {
  const uses = ["$now()", "$millis()", "$random()", "$shuffle([1, 2])", "$eval('1')"];
  for (const text of [...uses, "( $f := $random; $f() )", "$map([1], $millis)", "[1, 2] ~> $shuffle"]) {
    assert.match((await faultOf(text)).message, /^\$\w+ is not available, because a retry must send/, text);
  }
});

test("the same event gives the same result in every thread", async () => {
  const text =
    "{ 'summary': summary, 'person': person, 'at': $date(received_at, '[Y]', 'Asia/Tokyo'), 'keys': $keys($) }";
  const job = {
    event: { event: event({ extra, eventId: "e1" }), tenant: acme, isTest: false, earlier: noEarlierPosts },
  };
  const other = new Expressions(clocks);
  const [first, second] = [await valueOf(text, job), await valueOf(text, { ...job, on: other })];
  other.close();
  assert.equal(first, second);
});

test("only expressions that may see the secrets see them", async () => {
  const secrets = { token: "s3cr3t" };
  for (
    const text of [
      "secrets.token",
      "$$.secrets",
      "$lookup($, 'secrets')",
      "$string($)",
      "$spread($)",
      "**.token",
    ]
  ) {
    assert.doesNotMatch(String(await valueOf(text, { secrets })), /s3cr3t/, text);
  }
  const [url, json] = await expressions.evaluate("acme", {
    event: { event: event(), tenant: acme, isTest: false, earlier: noEarlierPosts },
    scope: { settings: {}, kept: {}, token: "{}" },
    secrets,
    expressions: [
      { name: "url", text: "'https://crm.example/' & secrets.token", as: "text", seesSecrets: true },
      { name: "json", text: "{ 'token': secrets.token }", as: "json" },
    ],
  }) ?? [];
  assert.deepEqual([url, json], [
    { name: "url", text: "https://crm.example/s3cr3t" },
    { name: "json", text: "{}" },
  ]);
});

test("one job leaves nothing behind for the next: no variable, no changed value, no prototype", async () => {
  const attempts = [
    "( $left := 'behind'; $left )",
    "$ ~> |extra|{ 'left': 'behind' }|",
    "$merge([{ '__proto__': { 'left': 'behind' } }])",
    "{ '__proto__': { 'left': 'behind' } }",
    "( $keys := 'behind'; $keys )",
    "extra.constructor.prototype",
  ];
  for (const text of attempts) await evaluate(text);
  for (const text of ["$left", "extra.left", "{ 'a': 1 }.left", "left", "'a'.left"]) {
    assert.equal(await valueOf(text), null, text);
  }
  assert.equal(await valueOf("$keys({ 'a': 1 })"), '"a"');
});

test("a false, empty or missing `when` skips the other expressions; a fault in it is the only value", async () => {
  const skipped = ["false", "extra.missing", "null", "''", "0", "kind = 'form'", "$exists(kept.id)"];
  for (const when of skipped) assert.equal(await evaluate("1", { when }), null, when);
  for (const when of ["true", "'no'", "1", "$exists(person.phone)", "{ 'a': 1 }"]) {
    assert.deepEqual(await evaluate("1", { when }), [{ name: "json", text: "1" }], when);
  }
  const [value, ...others] = await evaluate("1", { when: "$nothing()" }) ?? [];
  assert.deepEqual([value?.name, others], ["when", []]);
});

test("an expression sees settings, kept values, the token's response and the CRM's", async () => {
  const response = { status: 201, headers: { "x-id": "9" }, text: '{"id":12345678901234567890,"list":[1]}' };
  const scope = {
    settings: { owner: "7" },
    kept: { contact: 5 },
    token: '{"instance_url":"https://a.example"}',
    response,
  };
  const text =
    "[settings.owner, kept.contact, token.instance_url, status, $lookup(headers, 'x-id'), body.id]";
  assert.equal(await valueOf(text, { scope }), '["7",5,"https://a.example",201,"9",12345678901234567890]');
  const page = { status: 200, headers: {}, text: "<html>" };
  assert.equal(await valueOf("body", { scope: { response: page } }), '"<html>"');
  assert.equal(await valueOf("[body, status, token.x]"), "[]", "there is no response before a request");
});

const bounded: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  [
    "a joined text",
    "$join([1..9000].('x' & '123456789 123456789 123456789'))",
    /^\$join makes a text that is too long$/,
  ],
  [
    "a text joined with a long separator",
    "$join([1..9000].('x'), $pad('', 30))",
    /^\$join makes a text that/,
  ],
  [
    "a doubled text",
    "( $f := function($t, $n) { $n = 0 ? $t : $f($t & $t, $n - 1) }; $f('x', 30) )",
    /^A text has more than 262144/,
  ],
  ["a padded text", "$pad('x', 262145)", /^\$pad makes a text that is too long$/],
  ["a text padded at the start", "$pad('x', -262145)", /^\$pad makes a text that is too long$/],
  ["a sequence", "[1..10001]", /^The maximum sequence length of 10001 was exceeded\.$/],
  [
    "an appended list",
    "( $f := function($a) { $f($append($a, $a)) }; $f([1..1000]) )",
    /^The maximum sequence length of \d+ was exceeded\.$/,
  ],
  ["recursion", "( $f := function($n) { 1 + $f($n + 1) }; $f(1) )", /^Stack overflow\./],
];
for (const [what, text, message] of bounded) {
  test(`${what} has a bound, and the thread goes on`, async () => {
    assert.match((await faultOf(text)).message, message);
    assert.equal(await valueOf("1 + 1"), "2");
  });
}

/** Expressions that never end, or not in this century. */
const endless: readonly (readonly [what: string, text: string])[] = [
  ["a catastrophic regular expression on a lead's text", "$match(extra.repeated, /^(a+)+$/)"],
  ["an endless recursion", "( $f := function($n) { $f($n + 1) }; $f(1) )"],
];
for (const [what, text] of endless) {
  test(`a thread is ended for ${what}; other tenants' jobs and the tenant's next one are not disturbed`, async () => {
    const own = new Expressions(clocks);
    const ended = evaluate(text, { on: own, tenant: "bad" });
    const others = Array.from(
      { length: 20 },
      (_, index) => patientValueOf("1 + 1", { on: own, tenant: `t${index % 4}` }),
    );
    const [value, ...rest] = await ended ?? [];
    assert.deepEqual(rest, []);
    assert.ok(value !== undefined && "fault" in value);
    assert.equal(value.name, "expressions");
    assert.match(
      value.fault.message,
      /^It (?:took longer than 250 ms|ended its thread: ERR_WORKER_OUT_OF_MEMORY)$/,
    );
    assert.deepEqual(await Promise.all(others), Array(20).fill("2"));
    assert.equal(await valueOf("1 + 1", { on: own, tenant: "bad" }), "2");
    own.close();
  });
}

// Deno ends the whole process.
if (process.versions.deno === undefined) {
  test("a thread whose memory is full is ended, and the process and the next job go on", async () => {
    // Without the deadline, which such an expression usually reaches first.
    const own = new Expressions({ ...clocks, processorMs: () => 0 });
    const text = "( $f := function($a) { $f({ 'a': $a, 'b': $uppercase($pad('x', 200000)) }) }; $f('x') )";
    const { message } = await faultOf(text, { on: own });
    assert.equal(message, "It ended its thread: ERR_WORKER_OUT_OF_MEMORY");
    assert.equal(await valueOf("1 + 1", { on: own }), "2");
    own.close();
  });
}

test("a tenant whose expressions were ended uses a thread of its own for ten minutes, so that others do not wait for it", async () => {
  let passedMs = 0;
  const own = new Expressions({ ...clocks, monotonicMs: () => clocks.monotonicMs() + passedMs });
  const loop = "( $f := function($n) { $f($n + 1) }; $f(1) )";
  /** Runs an endless job of the bad tenant and then one of another; returns the tenants in the order in which they ended. */
  const order = async () => {
    const ended: string[] = [];
    const note = (tenant: string) => () => void ended.push(tenant);
    await Promise.all([
      evaluate(loop, { on: own, tenant: "bad" }).then(note("bad")),
      evaluate("1", { on: own, tenant: "good" }).then(note("good")),
    ]);
    return ended;
  };
  // Starts both threads.
  await valueOf("1", { on: own, tenant: "good" });
  assert.deepEqual(await order(), ["bad", "good"], "the first time, both use the same thread");
  assert.deepEqual(await order(), ["good", "bad"], "then the bad tenant's jobs are elsewhere");
  assert.equal(await valueOf("2", { on: own, tenant: "bad" }), "2", "where its sound expressions work too");
  passedMs += 600_000;
  assert.deepEqual(await order(), ["bad", "good"], "and after ten minutes it may try again");
  own.close();
});

test("a job that gets no thread in two seconds says so", async () => {
  // Without the deadline, the first job runs for longer.
  const own = new Expressions({ ...clocks, processorMs: () => 0 });
  void evaluate("( $f := function($n) { $f($n + 1) }; $f(1) )", { on: own, tenant: "slow" });
  assert.deepEqual(await evaluate("1", { on: own, tenant: "other" }), [
    { name: noThread, fault: { message: "No thread is free", position: null } },
  ]);
  own.close();
});

test("a tenant with many jobs does not delay another's by more than one", async () => {
  const ended: string[] = [];
  const many = Array.from(
    { length: 50 },
    () => evaluate("$sum([1..500])", { tenant: "many" }).then(() => ended.push("many")),
  );
  const one = evaluate("1", { tenant: "one" }).then(() => ended.push("one"));
  await Promise.all([...many, one]);
  assert.ok(ended.indexOf("one") <= 2, String(ended.indexOf("one")));
});

test("an expression that does not parse is a fault of its own, and the others are evaluated", async () => {
  const [bad, good] = await expressions.evaluate("acme", {
    event: { event: event(), tenant: acme, isTest: false, earlier: noEarlierPosts },
    scope: { settings: {}, kept: {}, token: "{}" },
    secrets: {},
    expressions: [{ name: "url", text: "'https://' &", as: "text" }, {
      name: "json",
      text: "{ 'a': 1 }",
      as: "json",
    }],
  }) ?? [];
  assert.ok(bad !== undefined && "fault" in bad);
  assert.match(bad.fault.message, /^Unexpected end of expression$/);
  assert.deepEqual(good, { name: "json", text: '{"a":1}' });
});
