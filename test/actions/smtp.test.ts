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

/** The connections of a tenant while no other sends. */
const shareAlone = mailConnectionsMax / 2;

function open(timeoutMs: number): SendMail {
  return openMail({
    host: "127.0.0.1",
    port: smtp.port,
    isSecure: false,
    login: null,
    timeoutMs,
    from: { name: "Leads", address: "leads@intake.example" },
  });
}

/** Sends an email to one of the tenant's mailboxes. */
function send(by: SendMail, tenant: string, number = 0): Promise<Outcome> {
  const address = `${number}@${tenant}.example`;
  return by({
    tenant,
    address,
    id: `${tenant}.${number}`,
    nowMs: 0,
    mail: () => {
      written.push(address);
      return { subject: "A lead", text: "text", html: "<p>text", replyTo: null, isCut: false };
    },
  });
}

const sendMany = (by: SendMail, tenant: string, count: number) =>
  Array.from({ length: count }, (_, number) => send(by, tenant, number));
const reasonOf = (outcome: Outcome) => outcome.kind === "failed" ? outcome.reason : outcome.kind;
const count = (reasons: readonly string[], reason: string) => reasons.filter((one) => one === reason).length;

test("a burst larger than the mail server's connection limit is sent completely", async () => {
  // The server accepts 50 connections and holds each message until released.
  const releases = smtp.hold(/@acme\.example/);
  const by = open(60_000);
  const sent = Promise.all(sendMany(by, "acme", 200));
  assert.equal(reasonOf(await send(by, "birch")), "done");
  for (let at = 0; at < 200; at += 1) (await until(() => releases[at]))();
  assert.deepEqual(new Set((await sent).map(reasonOf)), new Set(["done"]));
  assert.equal(new Set(smtp.messages.map(({ to }) => to.join())).size, 201);
});

test("one tenant uses half of the connections at most, and its other emails fail as timeout_queue", async () => {
  smtp.answers.set("RCPT", null);
  const outcomes = await Promise.all(sendMany(open(3_000), "acme", 50));
  const reasons = outcomes.map(reasonOf);
  assert.deepEqual([count(reasons, "timeout"), count(reasons, "timeout_queue")], [
    shareAlone,
    50 - shareAlone,
  ]);
  assert.deepEqual([smtp.connections, written.length], [shareAlone, shareAlone]);
});
