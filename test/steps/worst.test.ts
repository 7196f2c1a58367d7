/** Bounds the cost of a stranger's text by searching for the worst input: see `test/support/steps/`. */

import assert from "node:assert/strict";
import process from "node:process";
import test from "node:test";
import { renderEventMail } from "../../src/actions/destinations.ts";
import { readAttribution } from "../../src/forms/attribution.ts";
import { findContact } from "../../src/forms/contact.ts";
import {
  canonicalFields,
  fieldsFault,
  missingFields,
  readFields,
  submissionText,
} from "../../src/forms/fields.ts";
import { scoreSubmission } from "../../src/forms/spam/score.ts";
import { readIdempotencyKey } from "../../src/gate/idempotency_key.ts";
import { parseAcceptEncoding } from "../../src/http/accept_encoding.ts";
import { forwardedClient, parseNetworks } from "../../src/http/addresses.ts";
import { parseHttpDate, parseRange, parseTags } from "../../src/http/conditional.ts";
import { parseFilePath } from "../../src/http/static/static_file.ts";
import { adoptRequestId } from "../../src/http/request_id.ts";
import { parseTarget } from "../../src/http/target.ts";
import { canonicalText } from "../../src/lead/fingerprint.ts";
import { bytesFault } from "../../src/lead/body_fault.ts";
import { formMisspelling } from "../../src/lead/misspelling.ts";
import { contactsOf, personByEmail, personByPhone, type StoredTexts } from "../../src/lead/person.ts";
import { validate } from "../../src/lead/validate.ts";
import { Parameters } from "../../src/ops/parameters.ts";
import { readCheckout } from "../../src/plans/checkout.ts";
import { isSigned } from "../../src/plans/stripe_webhook.ts";
import {
  type Costly,
  flatObject,
  type Genome,
  line,
  searchWorst,
  type Subject,
} from "../support/steps/worst.ts";
import { event, sending } from "../support/actions/event.ts";

/** The changes tried per subject; set `FC_RUNS` for a long search. */
const rounds = Number(process.env.FC_RUNS ?? 40);
/** Large enough to show quadratic cost, small enough for many runs. */
const bytes = 1_500;
/** The maximum size of a body and of a header line. */
const [bodyBytes, headerBytes] = [65_536, 16_384];

/**
 * The maximum steps per byte. Chosen: twice the worst case found; quadratic cost adds hundreds per byte at the
 * searched size.
 */
const stepsPerByteMax = 120;

/** The maximum steps of the largest body. Chosen: twice the worst case found. */
const bodyStepsMax = 5_000_000;
/** The same during an erasure. Chosen: twice the worst case found. */
const erasureStepsMax = 600_000;
/** The maximum steps of the largest header line. Chosen: twice the worst case found. */
const headerStepsMax = 60_000;
/**
 * The maximum processor time of the largest input. Chosen: fifteen times the worst case found; quadratic cost takes
 * seconds.
 */
const msMax = 300;

const words =
  "a|A|1|.|:|/|//|://|http://|www.|a.b|.com|@|-|_|+|(|)|<|<a |</|{|[|$|$1|%|%41|%FF|&|=|?|#|!|*|'| |  |\\n|\\t|\\u0000|\\u0041|\\ud800|\\\\"
    .split("|");
const wide =
  "\u00a0|\u3000|\u0301|\u0316|é|İ|ß|а|αa|мы |ع|\ufdfa|\ufdfb|㌖|⒇|¼|가|買|買 |\u200b|\u202e|\u{1d400}|\u{1d7ff}|😀|\ufeff|\u0085|\u2028"
    .split("|");
const talk =
  "our services |we sell |your |seo |roof |necesito |C A S |v1agra |aBcDeFgHiJ |asdfgh|free |only $1|or 1=1|{{first|abcdefghijkl.|a@gmail.com|bit.ly/x |casino "
    .split("|");
const names =
  "name|email|phone|message|page_url|referrer|_started_at|website|first_name|country|cost|extra|project_details|zip|utm_source="
    .split("|");
const numbers = ["1", "10", "1e1", "9999999"];

/** As many as in a long form. */
const requiredNames = Array.from(
  { length: 25 },
  (_, at) => `required field ${"abcdefgh".repeat(1 + at % 4)} ${at}`,
);

const erased = [personByEmail("jane@example.com"), personByPhone("+1 415 555 0123")];

const trusted = parseNetworks("10.0.0.0/8, ::1");

const subjects: readonly (Subject & { readonly bodyStepsMax?: number })[] = [
  {
    name: "a form post",
    pieces: [...words, ...wide, ...talk, ...names, ...numbers],
    build: flatObject,
    read: formPost,
    bodyStepsMax,
  },
  {
    name: "a lead",
    pieces: [...words, ...wide, ...names, ...numbers],
    build: flatObject,
    read: leadPost,
    bodyStepsMax,
  },
  {
    name: "a body that is not flat",
    pieces: ["[", "]", "{", "}", '"', "\\", '\\"', ",", ":", '{"a":', '"a",', "1,", " ", "1e1", '"a":[],'],
    build: nested,
    read: anyPost,
    bodyStepsMax,
  },
  {
    name: "a post that lacks every field",
    pieces: [...words, ...wide, ...names, "frst_name", "phoen", "lastname", "nachname", "abcdefgh"],
    build: flatObject,
    read: refusedPost,
    bodyStepsMax,
  },
  {
    name: "a post while a person is erased",
    pieces: [...words, ...wide, ...names, ...numbers, "jane@example.com", "4155550123", "1 ", "@!a!a"],
    build: flatObject,
    read: (raw) => contactsOf(stored(raw)),
    bodyStepsMax: erasureStepsMax,
  },
  {
    name: "a stored post that an erasure compares",
    pieces: [...words, ...wide, ...names, ...numbers, "jane@example.com", "4155550123", "1 ", "%2540"],
    build: flatObject,
    read: (raw) => erased.map((person) => person?.relation(stored(raw))),
    bodyStepsMax: erasureStepsMax,
  },
  {
    name: "bytes that are not UTF-8",
    pieces: [
      "a",
      "\u00c3\u00a9",
      "\u00ff",
      "\u00ef\u00bf\u00bd",
      "\u00f0\u009f\u0098\u0080",
      "\n",
      "\u00ed\u00a0\u0080",
    ],
    build: line,
    read: (text) => bytesFault(Buffer.from(text, "latin1")),
    bodyStepsMax,
  },
  {
    name: "a mail",
    pieces: [...words, ...wide, ...names, ...numbers],
    build: flatObject,
    read: (content) => renderEventMail(sending(event({ kind: "form", content }))),
    bodyStepsMax,
  },
  {
    name: "a checkout",
    pieces: [...words, ...wide, "plan"],
    build: flatObject,
    read: readCheckout,
    bodyStepsMax,
  },
  header("X-Forwarded-For", [
    "10.0.0.1,",
    "::1,",
    "[",
    "]",
    ":1",
    ",",
    " ",
    ".",
    "1",
    "f",
    "::",
    "%",
    "fe80::1%1,",
    "[::1]:1,",
  ], (text) => forwardedClient(text, { peer: "10.0.0.1", trusted })),
  header("Range", ["bytes=", "0", "-", ",", " ", "\t", "1-2,", "x"], parseRange),
  header(
    "Accept-Encoding",
    ["gzip", ",", ";", "q=", "0.", "1", " ", "*", "br;q=1,", "a"],
    parseAcceptEncoding,
  ),
  header("If-None-Match", ["W/", '"', ",", " ", '"a"', "a", "*", '"a",', 'W/"'], parseTags),
  header(
    "If-Modified-Since",
    ["Sun, ", "06 Nov 1994 ", "08:49:37 ", "GMT", " ", "1", ":", "-", "a"],
    parseHttpDate,
  ),
  header("the request target", ["http://", "https://", "/", "?", "#", "a", "%", "@", ":", ".."], parseTarget),
  header(
    "the path of a file",
    ["/", ".", "..", "%", "%2f", "%2e", "a", "%FF", "%C3%A9", "-1", "~"],
    (text) => parseFilePath(`/${text}`),
  ),
  header(
    "X-Request-Id",
    ["a", "é", "\u00ff", " ", "lead_live_", "\u00c3\u00a9", "\u0080"],
    (text) => adoptRequestId(text, { lengthMax: 64, refused: /lead_live_\w{38}/ }),
  ),
  header(
    "Idempotency-Key",
    ["a", "é", "\u00ff", " ", "\u00c3\u00a9", "\u0080", "1"],
    (text) => readIdempotencyKey([text]),
  ),
  header(
    "Stripe-Signature",
    ["t=1,", "v1=", "a", ",", " ", "0", "=", `v1=${"a".repeat(64)},`],
    (text) => isSigned(new Uint8Array(10), text, { secrets: ["s"], nowSeconds: 1 }),
  ),
  header("the parameters of the search", [
    "since=",
    "source=",
    "&",
    "=",
    "%",
    "%41",
    "%FF",
    "+",
    "a",
    "2026-11-20T",
  ], (text) => {
    try {
      return new Parameters(text, ["source", "since"]).time("since");
    } catch (error) {
      return error;
    }
  }),
];

function stored(raw: string): StoredTexts {
  return { lead: null, extra: raw, raw, contact: null, identifiers: [] };
}

function header(name: string, pieces: readonly string[], read: (text: string) => unknown): Subject {
  return { name, pieces, build: line, read };
}

function formPost(body: string): void {
  const posted = readFields(body);
  assert.ok(posted, body.slice(0, 200));
  missingFields(posted, ["name", "email"]);
  canonicalFields(posted, { isIdentified: true });
  submissionText(posted);
  readAttribution(posted);
  findContact(posted);
  scoreSubmission(posted.fields, { blocked: ["casino", "miracle cure", "贷款"], receivedAtMs: 0 });
}

function leadPost(body: string): void {
  // With the required fields, so that the body is read to its end.
  const whole = body.replace(/\}$/, `,"first_name":"A","last_name":"B","phone":"4155550123"}`);
  const verdict = validate(whole, new Map());
  if (verdict.kind === "valid") canonicalText(verdict.lead, verdict.extra);
}

function nested(genome: Genome, size: number): string {
  return `{"a":${line(genome, size - 6)}}`;
}

function anyPost(body: string): void {
  if (readFields(body) === null) fieldsFault(body);
  leadPost(body);
}

/** Reads a refused post, whose field names are compared with similar ones. */
function refusedPost(body: string): void {
  validate(body, new Map());
  const posted = readFields(body);
  const required = requiredNames;
  if (posted !== null) formMisspelling(posted.fields.keys(), { required, missing: required });
}

for (const subject of subjects) {
  test(`each byte of ${subject.name} costs a bounded number of steps`, (t) => {
    const check = (found: readonly Costly[], size: number, stepsMax: number) => {
      const told = found.map(({ steps, ms, genome }) =>
        `${steps} steps, ${ms} ms, of ${size} bytes: ${JSON.stringify(genome)}`
      );
      t.diagnostic(told[0] as string);
      const isOver = ({ steps, ms }: Costly) => steps > stepsMax || ms > msMax;
      assert.deepEqual(told.filter((_, index) => isOver(found[index] as Costly)), []);
    };
    const worst = searchWorst(subject, { bytes, rounds, seed: 1, most: 4 });
    check(worst, bytes, stepsPerByteMax * bytes);

    // The worst small input is not the worst large one: there are bounds in between.
    const genomes = worst.map(({ genome }) => genome);
    const many = [Infinity, 120, 6].flatMap((fieldBytes) =>
      ["1", "\ufdfa", "\u{1d7ff}"].map((unit) => ({
        first: "",
        last: "x",
        unit,
        fieldBytes,
        fieldName: "phone",
      }))
    );
    const from = subject.bodyStepsMax === undefined ? genomes.slice(0, 1) : [...genomes.slice(0, 2), ...many];
    const size = subject.bodyStepsMax === undefined ? headerBytes : bodyBytes;
    const largest = searchWorst(subject, { bytes: size, rounds: rounds / 20, seed: 1, most: 4, from });
    check(largest, size, subject.bodyStepsMax ?? headerStepsMax);
  });
}
