import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { formExample } from "../../src/contract/forms.ts";
import { formJavaScript, formPhp, formPython } from "../../src/documents/forms_brief.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";
import { openFront } from "../support/docs/clients.ts";
import { type Command, type Ran, runTool } from "../support/tool.ts";
import { startWebsite, type Website, websiteLanguages } from "../support/docs/website.ts";

/** The code of the forms' brief, unchanged. */
const folder = temporaryFolder("forms-brief");
const testEnv = await TestEnv.open();
const service = await testEnv.start();
// The tenant of the brief's examples.
const [row] = await testEnv.sql<{ id: number }[]>`
  insert into tenant (slug, name) values ('acme', 'Acme') returning id`;
const { key } = await testEnv.formWithKey({ tenant: { id: row?.id as number, slug: "acme" } });

const text = (await testEnv.sendToForms("/v1/forms/INTEGRATION.md")).text;
/** In each language: a website, one whose form requires a field that the page does not have, and one with a wrong key. */
const { form: otherForm, key: otherKey } = await testEnv.formWithKey({ required: ["name", "roof_age"] });
const otherText = text.replaceAll("/acme/contact", `/${otherForm.tenant.slug}/${otherForm.formKey}`);
const websites = await Promise.all(websiteLanguages.map(async (language) => ({
  language,
  site: await startWebsite(language, { brief: text, key: key.text }),
  unsuited: await startWebsite(language, { brief: otherText, key: otherKey.text }),
  unauthorized: await startWebsite(language, { brief: text, key: "form_live_mistyped" }),
})));

const snippets = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({
  language: language as string,
  code: code as string,
}));
const codeIn = (language: string) => snippets.find((snippet) => snippet.language === language)?.code ?? "";

async function run(command: Command, key: string): Promise<Ran> {
  const ran = await runTool(command, {
    cwd: folder,
    env: { HOME: folder, FORMS_API_KEY: key },
    isBare: true,
  });
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  return ran;
}

/** The result of the brief's function, and its log. */
interface Submitted {
  readonly isSent: boolean;
  readonly submissionId: string | null;
  readonly fields: object;
  readonly log: string;
}

type Submit = (fields: object, key?: string) => Promise<Submitted>;

const inJavaScript = (code: string): Submit => async (fields, text = key.text) => {
  writeFileSync(join(folder, "submit_form.js"), code);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const program = `import { submitForm } from "./submit_form.js";
    console.log(JSON.stringify(await submitForm(${JSON.stringify(fields)})));`;
  writeFileSync(join(folder, "program.js"), program);
  const { stdout, stderr } = await run([process.execPath, "program.js"], text);
  return { ...JSON.parse(stdout), log: stderr };
};

const inPython = (code: string): Submit => async (fields, text = key.text) => {
  writeFileSync(join(folder, "submit_form.py"), code);
  const program = `import json, submit_form
is_sent, submission_id, missing = submit_form.submit_form(json.loads(${
    JSON.stringify(JSON.stringify(fields))
  }))
print(json.dumps({"isSent": is_sent, "submissionId": submission_id, "fields": missing}))`;
  writeFileSync(join(folder, "program.py"), program);
  // Python would reuse the bytecode of a module with the same size and time of change.
  const { stdout, stderr } = await run(["python3", "-B", "program.py"], text);
  return { ...JSON.parse(stdout), log: stderr };
};

const inPhp = (code: string): Submit => async (fields, text = key.text) => {
  writeFileSync(join(folder, "submit_form.php"), code);
  const program = `<?php require "submit_form.php";
$sent = submit_form(json_decode('${JSON.stringify(fields)}', true));
echo json_encode(["fields" => (object) $sent["fields"]] + $sent);`;
  writeFileSync(join(folder, "program.php"), program);
  const told = ["-d", "error_reporting=-1", "-d", "display_errors=stderr", "-d", "log_errors=0"];
  const { stdout, stderr } = await run(["php", ...told, "program.php"], text);
  return { ...JSON.parse(stdout), log: stderr };
};

/** The languages of the brief, each with a builder of its function. */
const functions = ([
  ["JavaScript", "js", formJavaScript, inJavaScript],
  ["Python", "python", formPython, inPython],
  ["PHP", "php", formPhp, inPhp],
] as const).filter(([name]) => !isSkipped(`test/suite/forms_docs: ${name}`))
  .map(([name, fence, text, submitter]) => ({ name, fence, text, submitter }));

test("the forms' brief has snippets in exactly the languages tested here", () => {
  const languages = snippets.map(({ language }) => language);
  assert.deepEqual(languages, ["sh", "sh", "html", "json", "json", "php", "js", "python"]);
});

test("curl: the probe names the required fields and stores nothing; the submission is accepted, then a duplicate", async () => {
  const [probe, submit] = snippets.filter(({ language }) => language === "sh").map(({ code }) => code);
  const shell = async (code = "") => (await run(["sh", "-e", "-c", code], key.text)).stdout;
  const answer = await testEnv.leavesNothing(() => shell(probe));
  assert.match(
    answer,
    /^HTTP\/1.1 400 .*"missing_required".*"fields":\{"name":"required","email":"required"\}/s,
  );
  assert.match(await shell(submit), /^HTTP\/1.1 202 .*"status":"accepted"/s);
  assert.match(await shell(submit), /^HTTP\/1.1 200 .*"status":"duplicate"/s);
});

for (const { name: language, fence, submitter } of functions) {
  const submit = submitter(codeIn(fence));
  test(`${language}: a submission is stored once, both times with its ID, and missing fields are named to the visitor`, async () => {
    const fields = { ...formExample, message: `Our gutters overflow. Tell me in ${language}.` };
    const before = (await testEnv.stored()).submissions;
    const { submissionId, ...first } = await submit(fields);
    assert.deepEqual(first, { isSent: true, fields: {}, log: "" });
    assert.deepEqual(await submit(fields), { ...first, submissionId });
    assert.equal((await testEnv.stored()).submissions, before + 1);
    await testEnv.submission(submissionId ?? "");
    const missing = await submit({ ...fields, email: " " });
    assert.deepEqual(missing, { isSent: false, submissionId: null, fields: { email: "required" }, log: "" });
  });

  test(`${language}: an invalid key is logged with the request id and not retried`, async () => {
    const { isSent, fields, log } = await submit({ ...formExample }, "form_live_mistyped");
    assert.deepEqual([isSent, fields], [false, {}]);
    assert.match(log, /form not sent: 401 unauthorized [0-9a-z]+/);
    assert.doesNotMatch(log, /mistyped/);
  });
}

/** Sends these statuses in order; `null` cuts the connection. */
async function scripted(statuses: readonly (number | null)[], retryAfter = "1") {
  const headers = { "Retry-After": retryAfter };
  const answers = statuses.map((status) => status === null ? null : { status, headers });
  const { url, asked } = await openFront(service.urls.forms ?? "", answers);
  return { seen: asked, formUrl: `${url}/v1/forms/acme/contact` };
}

for (const { name: language, text, submitter } of functions) {
  const make = (formUrl: string) => submitter(text(formUrl));
  test(`${language}: 429, 503 and a cut connection are retried with the same body, after Retry-After`, async () => {
    const { seen, formUrl } = await scripted([429, 503, null, 202]);
    // The scripted 202 has no ID; it counts all the same.
    assert.deepEqual(await make(formUrl)({ name: "Grace" }), {
      isSent: true,
      submissionId: null,
      fields: {},
      log: "",
    });
    assert.equal(seen.length, 4);
    for (const { body } of seen) assert.deepEqual(JSON.parse(body), { name: "Grace" });
    const waitedMs = (seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0);
    assert.ok(waitedMs >= 999, `${waitedMs} ms after a Retry-After of 1`);
  });

  test(`${language}: a visitor does not wait for a Retry-After over 20 s`, async () => {
    for (const retryAfter of ["20", "9".repeat(400)]) {
      const { seen, formUrl } = await scripted([503, 202], retryAfter);
      const { isSent, log } = await make(formUrl)({ name: "Grace" });
      assert.deepEqual([isSent, seen.length], [false, 1]);
      assert.match(log, /form not sent: 503/);
    }
  });
}

/** Sends bytes to a website as they are, and closes the connection in the middle of the request. */
async function abort({ port }: Website, text: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  await new Promise((sent) => socket.write(text, sent));
  socket.resetAndDestroy();
}

/** Sends a request as it is and returns the response, which may be none. `isLast` closes the sending half afterwards. */
async function sendRaw({ port }: Website, text: string, { isLast = false } = {}): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}).write(text);
  if (isLast) socket.end();
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk) => received += chunk);
  await once(socket, "close");
  return received;
}

const urlencoded = "Content-Type: application/x-www-form-urlencoded\r\n";
const postHead = `POST /quote HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${urlencoded}`;

for (const { language, site, unsuited, unauthorized } of websites) {
  const post = (body: string | URLSearchParams, headers: Record<string, string> = {}) =>
    fetch(`${site.url}/quote`, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
      redirect: "manual",
    });
  const fields = (members: Record<string, string> = {}) =>
    new URLSearchParams({ ...formExample, message: `Our roof leaks. A page in ${language}.`, ...members });
  /** Returns the stored event that a thanks page names. */
  const storedBy = async (sent: Response) => {
    const location = sent.headers.get("location") ?? "";
    assert.equal(sent.status, 303);
    return await testEnv.event(new URL(location, site.url).searchParams.get("reference") ?? "");
  };

  test(`${language}: the website shows errors beside the fields, keeps the input, and ends in a 303 to a page with the submission's ID`, async () => {
    const empty = await (await fetch(`${site.url}/quote`)).text();
    assert.match(empty, /<form method="post">.*name="name".*name="website"/s);
    assert.doesNotMatch(empty, /aria-invalid|aria-describedby|\{\{/);
    assert.match(empty, /id="name-error" hidden/);

    const before = (await testEnv.stored()).submissions;
    const refused = await post(fields({ name: '<b>"Grace"', email: " ", service: "Gutters" }));
    const html = await refused.text();
    assert.equal(refused.status, 422);
    assert.match(html, /role="alert" tabindex="-1" autofocus >\s*<p>Please fill in what is missing/);
    assert.match(html, /id="email-error" >Enter your email address\.</);
    assert.match(html, /name="email"[^>]* aria-invalid="true" aria-describedby="email-error"/);
    assert.match(html, /id="name-error" hidden/);
    assert.match(html, /name="name"[^>]* value="&(lt|#60);b&(gt|#62);&(quot|#34);Grace&(quot|#34);"/);
    assert.match(html, /value="Gutters" checked/);
    assert.match(html, />Our roof leaks\. A page in \w+\.<\/textarea>/);
    assert.doesNotMatch(html, /<b>/);
    assert.equal((await testEnv.stored()).submissions, before);

    const sent = await post(fields());
    const { event_id: id } = await storedBy(sent);
    assert.equal((await testEnv.stored()).submissions, before + 1);
    const thanks = await (await fetch(new URL(sent.headers.get("location") ?? "", site.url))).text();
    assert.match(thanks, new RegExp(`Thank you.*${id}`, "s"));
    await until(() => site.log().includes(`form sent: ${id}`), { what: "the log has the ID" });
  });

  test(`${language}: the website stores all values of a name, without PHP's brackets, and the Referer as page_url without JavaScript`, async () => {
    const body = fields({ page_url: "" });
    for (const service of ["Roof repair", "", "Gutters"]) body.append("service[]", service);
    body.append("__proto__", "polluted");
    const page = `${site.url}/quote?utm_source=ads`;
    const { lead, extra } = await storedBy(await post(body, { Referer: page }));
    assert.equal(lead.service, "Roof repair, Gutters");
    assert.equal(lead.page_url, page);
    assert.equal(Object.getOwnPropertyDescriptor(lead, "__proto__")?.value, "polluted");
    assert.deepEqual(JSON.parse(String(extra)).attribution, { utm_source: "ads" });
  });

  test(`${language}: the website replaces bytes that are not UTF-8`, async () => {
    const { lead } = await storedBy(await post("name=Zo%EB&email=zoe%40example.com&message=%C3%A9%FF%"));
    assert.deepEqual([lead.name, lead.message], ["Zo\uFFFD", "é\uFFFD%"]);
  });

  test(`${language}: the website outlives aborted, endless and malformed posts`, async () => {
    const before = (await testEnv.stored()).submissions;
    for (let time = 0; time < 3; time++) {
      await abort(site, `${postHead}Content-Length: 500\r\n\r\nname=Grace&email=grace%40example.com`);
      await abort(site, `${postHead}Content-Length: 20000000\r\n\r\nname=Grace`);
    }
    await abort(site, "GET /quo");
    const half = `${postHead}Content-Length: 500\r\n\r\nname=Grace&email=grace%40example.com`;
    assert.doesNotMatch(await sendRaw(site, half, { isLast: true }), /^HTTP\/1\.\d [235]/);
    for (const length of ["many", "-1"]) {
      const body = "name=Grace&email=grace%40example.com";
      assert.doesNotMatch(
        await sendRaw(site, `${postHead}Content-Length: ${length}\r\n\r\n${body}`),
        /^HTTP\/1\.\d [235]/,
      );
    }
    for (const path of ["//", "/%FF?%FF=%FF"]) {
      const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      assert.match(await sendRaw(site, request), /^HTTP\/1\.\d [24]/);
    }
    const tooLong = await post(fields({ message: "x".repeat(70_000) }));
    assert.equal(tooLong.status, 413);
    assert.match(await tooLong.text(), /autofocus >\s*<p>Your request was too long/);
    const file = new FormData();
    file.append("photo", new Blob(["roof"]), "roof.jpg");
    assert.equal((await fetch(`${site.url}/quote`, { method: "POST", body: file })).status, 415);
    assert.equal((await testEnv.stored()).submissions, before);
    assert.equal((await fetch(`${site.url}/quote`)).status, 200);
    assert.ok(site.isRunning());
    assert.doesNotMatch(site.log(), /Warning|Notice|Deprecated/);
  });

  test(`${language}: the website answers other paths with 404, other methods with 405, and HEAD without a body`, async () => {
    for (
      const path of ["/favicon.ico", "/submit_form", "/pages/layout.html", "/../server.js", "/constructor"]
    ) {
      const answer = await fetch(site.url + path);
      assert.equal(answer.status, 404, path);
      assert.match(await answer.text(), /Page not found/);
    }
    for (const [method, path] of [["POST", "/"], ["PUT", "/quote"], ["OPTIONS", "/quote"]] as const) {
      const answer = await fetch(site.url + path, { method });
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"], method + path);
    }
    const head = await sendRaw(site, "HEAD /quote HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert.match(head, /^HTTP\/1\.\d 200 .*\r\n\r\n$/s);
  });

  test(`${language}: the website asks the visitor to call, and logs why, if it cannot send the form`, async () => {
    const send = ({ url }: Website, name: string) =>
      fetch(`${url}/quote`, { method: "POST", body: fields({ name }), redirect: "manual" });
    const asked = /autofocus >\s*<p>\s*We could not send your request/;
    const known = await send(unsuited, " ");
    assert.equal(known.status, 422);
    assert.match(
      await known.text(),
      /autofocus >\s*<p>Please fill in[^]*autofocus >\s*<p>\s*We could not send/,
    );
    const unknown = await send(unsuited, "Grace Hopper");
    const html = await unknown.text();
    assert.equal(unknown.status, 503);
    assert.match(html, asked);
    assert.match(html, /value="Grace Hopper"/);
    await until(() => unsuited.log().includes("required, but not on the page: roof_age"), {
      what: "a log line",
    });

    const failed = await send(unauthorized, "Grace Hopper");
    assert.equal(failed.status, 503);
    assert.match(await failed.text(), asked);
    await until(() => unauthorized.log().includes("form not sent: 401 unauthorized"), { what: "a log line" });
  });
}
