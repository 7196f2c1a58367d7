import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formExample } from "../../src/contract/forms.ts";
import { formJavaScript, formPhp, formPython } from "../../src/documents/forms_brief.ts";
import { freePort } from "../../scripts/free_port.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { atEnd } from "../support/at_end.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";
import { openFront } from "../support/docs/clients.ts";
import { type Command, type Ran, runTool } from "../support/tool.ts";

/** The code of the forms' brief, unchanged. */
const folder = temporaryFolder("forms-brief");
const testEnv = await TestEnv.open();
const service = await testEnv.start();
// The tenant of the brief's examples.
const [row] = await testEnv.sql<{ id: number }[]>`
  insert into tenant (slug, name) values ('acme', 'Acme') returning id`;
const { key } = await testEnv.formWithKey({ tenant: { id: row?.id as number, slug: "acme" } });

const text = (await testEnv.sendToForms("/v1/forms/INTEGRATION.md")).text;
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
type Submit = (fields: object, key?: string) => Promise<{ isSent: boolean; fields: object; log: string }>;

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
is_sent, missing = submit_form.submit_form(json.loads(${JSON.stringify(JSON.stringify(fields))}))
print(json.dumps({"isSent": is_sent, "fields": missing}))`;
  writeFileSync(join(folder, "program.py"), program);
  // Python would reuse the bytecode of a module with the same size and time of change.
  const { stdout, stderr } = await run(["python3", "-B", "program.py"], text);
  return { ...JSON.parse(stdout), log: stderr };
};

const inPhp = (code: string): Submit => async (fields, text = key.text) => {
  writeFileSync(join(folder, "submit_form.php"), code);
  const program = `<?php require "submit_form.php";
["isSent" => $sent, "fields" => $missing] = submit_form(json_decode('${JSON.stringify(fields)}', true));
echo json_encode(["isSent" => $sent, "fields" => (object) $missing]);`;
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
  test(`${language}: a submission is stored once, and missing fields are named to the visitor`, async () => {
    const fields = { ...formExample, message: `Our gutters overflow. Tell me in ${language}.` };
    const before = (await testEnv.stored()).submissions;
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await submit(fields), { isSent: true, fields: {}, log: "" });
    }
    assert.equal((await testEnv.stored()).submissions, before + 1);
    const missing = await submit({ ...fields, email: " " });
    assert.deepEqual(missing, { isSent: false, fields: { email: "required" }, log: "" });
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
    assert.deepEqual(await make(formUrl)({ name: "Grace" }), { isSent: true, fields: {}, log: "" });
    assert.equal(seen.length, 4);
    for (const { body } of seen) assert.deepEqual(JSON.parse(body), { name: "Grace" });
    const waitedMs = (seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0);
    assert.ok(waitedMs >= 999, `${waitedMs} ms after a Retry-After of 1`);
  });

  test(`${language}: a visitor does not wait for a Retry-After over 20 s`, async () => {
    const { seen, formUrl } = await scripted([503, 202], "20");
    const { isSent, log } = await make(formUrl)({ name: "Grace" });
    assert.deepEqual([isSent, seen.length], [false, 1]);
    assert.match(log, /form not sent: 503/);
  });
}

/** The whole pages of docs/forms.md, by their language's name in the test plan. */
const pages = ([
  ["JavaScript", "js", "contact.js", "submit_form.js", () => [process.execPath, "contact.js"]],
  ["Python", "python", "contact.py", "submit_form.py", () => ["python3", "-B", "contact.py"]],
  [
    "PHP",
    "php",
    "contact.php",
    "submit_form.php",
    (port: number) => ["php", "-S", `127.0.0.1:${port}`, "contact.php"],
  ],
] as const).filter(([name]) => !isSkipped(`test/suite/forms_docs: ${name}`));
const formsPage = readFileSync("docs/forms.md", "utf8");

for (const [language, fence, file, functionFile, commandOf] of pages) {
  test(`${language}: the whole page shows errors beside the fields, keeps the input, and ends in a 303`, async () => {
    const own = temporaryFolder("forms-page");
    const code = formsPage.match(new RegExp(`^\`\`\`${fence}\n(.*?)^\`\`\`$`, "ms"))?.[1] ?? "";
    writeFileSync(join(own, file), code);
    writeFileSync(join(own, functionFile), codeIn(fence));
    writeFileSync(join(own, "package.json"), '{"type":"module"}');
    const port = await freePort();
    const [command = "", ...args] = commandOf(port);
    const env = { PATH: process.env.PATH ?? "", HOME: own, PORT: String(port), FORMS_API_KEY: key.text };
    const site = spawn(command, args, { cwd: own, env, stdio: "ignore" });
    atEnd(() => site.kill());
    const url = `http://127.0.0.1:${port}/`;
    const post = (fields: Record<string, string>) =>
      fetch(url, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
    await until(() => fetch(url).then(({ ok }) => ok, () => false));
    const empty = await (await fetch(url)).text();
    assert.match(empty, /<form method="post">.*name="name".*name="website"/s);
    assert.doesNotMatch(empty, /Please fill/);

    const before = (await testEnv.stored()).submissions;
    const refused = await post({ name: '<b>"Grace"', email: " ", message: "Our roof leaks." });
    const html = await refused.text();
    assert.equal(refused.status, 422);
    assert.match(html, /id="email-error">Please fill this in\.</);
    assert.match(html, /id="name-error"><\/strong>/);
    assert.match(html, /name="name" value="&(lt|#60);b&(gt|#62);&(quot|#34);Grace&(quot|#34);"/);
    assert.doesNotMatch(html, /<b>/);
    assert.equal((await testEnv.stored()).submissions, before);

    const sent = await post(
      { ...formExample, message: `Our roof leaks. A page in ${language}.` } as Record<string, string>,
    );
    assert.deepEqual([sent.status, sent.headers.get("location")], [303, "/thanks"]);
    assert.equal((await testEnv.stored()).submissions, before + 1);
    assert.match(await (await fetch(`${url}thanks`)).text(), /Thank you/);
    site.kill();
  });
}
