/** The page of caught emails and webhooks, and what a hostile email cannot do there. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { isSkipped } from "../../scripts/test_plan.ts";
import { openCatcher } from "../../scripts/mail_catcher/catcher.ts";
import { Authority } from "../support/authority.ts";
import { atEnd } from "../support/at_end.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { send } from "../support/client.ts";
import { listen } from "../support/listen.ts";
import { until } from "../support/until.ts";

const authority = new Authority();
const { cert, key } = authority.issue({ name: "catcher", use: "server" });
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const catcher = await openCatcher({ listen: { host: "127.0.0.1", port: 0 }, cert, key, secret });
atEnd(() => catcher.close());

// A tracker that records opened emails.
const seen: string[] = [];
const stranger = createServer((request, response) => {
  seen.push(request.url ?? "");
  response.end();
});
const strangerUrl = `http://127.0.0.1:${await listen(stranger)}`;

const get = (path: string, headers: Record<string, string> = {}) =>
  send(`${catcher.url}${path}`, { headers });

/** Sends the email to the mail server line by line, waiting for each reply. */
async function mail(raw: string): Promise<void> {
  const { port } = new URL(catcher.smtpUrl);
  const socket = connect({ host: "127.0.0.1", port: Number(port) });
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => heard += text);
  const lines = ["EHLO me", "MAIL FROM:<a@b.example>", "RCPT TO:<c@d.example>", "DATA", `${raw}\r\n.`];
  for (const [index, line] of lines.entries()) {
    await until(() => heard.split("\r\n").filter((one) => /^\d{3} /.test(one)).length > index);
    socket.write(`${line}\r\n`);
  }
  await until(() => heard.includes("queued"));
  socket.end("QUIT\r\n");
}

const hostile = [
  "Subject: =?utf-8?Q?Caf=C3=A9_<script>alert(1)</script>?=",
  "X-Evil: <img src=x onerror=alert(1)>",
  'Content-Type: multipart/alternative; boundary="x"',
  "",
  "--x",
  "Content-Type: text/plain; charset=utf-8",
  "Content-Transfer-Encoding: base64",
  "",
  Buffer.from("Grüße </pre><script>alert(1)</script>").toString("base64"),
  "--x",
  "Content-Type: text/html; charset=utf-8",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  '<p id=3D"caf=C3=A9">caf=C3=A9=',
  "</p><b>one =",
  "two</b><script>parent.document.title =3D 'taken'; document.title =3D 'taken'</script>",
  `<img src=3D"${strangerUrl}/seen"><style>p { color: red }</style>`,
  '<form action=3D"http://127.0.0.1:1/"><button>Go</button></form>',
  "--x--",
].join("\r\n");

test("a caught email shows its headers, its text, its HTML in a sandboxed frame, and its source", async () => {
  await mail(hostile);
  const list = await get("/");
  const path = /href="(\/mail\/\d+)">Café/.exec(list.text)?.[1] ?? "";
  for (const page of [list, await get(path)]) {
    assert.match(
      String(page.headers["content-security-policy"]),
      /^default-src 'none'; style-src 'self'; frame-src 'self'/,
    );
    assert.equal(page.headers["x-content-type-options"], "nosniff");
    assert.doesNotMatch(page.text, /<script|<img/);
  }
  const shown = (await get(path)).text;
  assert.match(shown, /Grüße &lt;\/pre&gt;&lt;script&gt;/);
  assert.match(shown, /<dt>X-Evil<\/dt><dd>&lt;img src=x/);
  assert.match(shown, /<iframe sandbox="" /);
  const html = await get(`${path}/html`);
  assert.match(html.text, /<p id="café">café<\/p><b>one two<\/b>/, "a blank before a soft line break stays");
  assert.match(String(html.headers["content-security-policy"]), /^sandbox; default-src 'none'/);
  const source = await get(`${path}/source`);
  assert.equal(source.headers["content-type"], "text/plain; charset=utf-8");
  assert.equal(source.text, hostile);
});

test("a foreign Host reads nothing, and nothing can be changed", async () => {
  const answer = await get("/", { Host: "evil.example" });
  assert.equal(answer.status, 421);
  assert.doesNotMatch(answer.text, /mail\//);
  assert.equal((await send(`${catcher.url}/`, { method: "POST" })).status, 405);
  for (const path of ["/mail/999", "/mail/1x", "/webhook/1", "/style.css/", "/mail/1/raw"]) {
    assert.equal((await get(path)).status, 404, path);
  }
});

if (!isSkipped("test/scripts/mail_catcher: browser")) {
  test("in a browser, an email's HTML runs no script, loads nothing remote and cannot reach the page around it", async () => {
    const browser = await startBrowser();
    atEnd(() => browser.close());
    const page = await browser.newPage();
    await page.goto(catcher.url);
    await page.getByRole("link", { name: /Café/ }).first().click();
    const frame = page.frameLocator("iframe");
    await frame.getByText("café").waitFor();
    assert.match(await page.title(), /^Café/);
    await page.goto(`${page.url()}/html`);
    await page.getByText("café").waitFor();
    assert.deepEqual(seen, []);
  });
}
