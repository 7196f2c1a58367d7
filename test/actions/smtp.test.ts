import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Outcome } from "../../src/actions/outcome.ts";
import { mailConnectionsMax, openMail, type SendMail } from "../../src/actions/smtp.ts";
import { type SmtpListener, startSmtp } from "../support/actions/smtp_listener.ts";
import { until } from "../support/until.ts";

let smtp: SmtpListener;
let written: string[];

beforeEach(async () => {
  smtp = await startSmtp();
  written = [];
});

/** What one tenant gets that is alone. */
const shareAlone = mailConnectionsMax / 2;

function open(timeoutMs: number): SendMail {
  return openMail({
    ...{ host: "127.0.0.1", port: smtp.port, isSecure: false, login: null, timeoutMs },
    from: { name: "Leads", address: "leads@intake.example" },
  });
}

/** To a mailbox of the tenant. */
function send(by: SendMail, tenant: string, number = 0): Promise<Outcome> {
  const address = `${number}@${tenant}.example`;
  return by({
    ...{ tenant, address, id: `${tenant}.${number}`, nowMs: 0 },
    mail: () => {
      written.push(address);
      return { subject: "A lead", text: "text", html: "<p>text", replyTo: null, isCut: false };
    },
  });
}

const sendMany = (by: SendMail, tenant: string, count: number) =>
  Array.from({ length: count }, (_, number) => send(by, tenant, number));
const reasonOf = (outcome: Outcome) => outcome.kind === "failed" ? outcome.reason : outcome.kind;
const count = (words: readonly string[], word: string) => words.filter((one) => one === word).length;
test("of a burst beyond what a mail server takes at once every mail is done", async () => {
  // This one takes 50 connections; none of the burst's ends before all have come that come.
  const held = smtp.hold(/@acme\.example/);
  const by = open(60_000);
  const sent = Promise.all(sendMany(by, "acme", 200));
  assert.equal(reasonOf(await send(by, "birch")), "done");
  for (let at = 0; at < 200; at += 1) (await until(() => held[at]))();
  assert.deepEqual(new Set((await sent).map(reasonOf)), new Set(["done"]));
  assert.equal(new Set(smtp.messages.map(({ to }) => to.join())).size, 201);
});

test("a tenant that is alone has half of the connections; what waits for one is not begun, and timeout_queue", async () => {
  smtp.answers.set("RCPT", null);
  const outcomes = await Promise.all(sendMany(open(3_000), "acme", 50));
  const words = outcomes.map(reasonOf);
  assert.deepEqual([count(words, "timeout"), count(words, "timeout_queue")], [shareAlone, 50 - shareAlone]);
  assert.deepEqual([smtp.connections, written.length], [shareAlone, shareAlone]);
});
