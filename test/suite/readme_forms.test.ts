import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { World } from "./world.ts";

/** The README's snippets for a website's developer, word for word but for the address. */
const world = await World.open();
after(() => world.close());
const server = await world.start();
// As `npm start` has it.
const [row] = await world.sql<{ id: number }[]>`
  insert into tenant (slug, name, sandbox) values ('sandbox', 'Sandbox', true) returning id`;
const { key, form } = await world.formWithKey({ tenant: { id: row?.id as number, slug: "sandbox" } });

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const section = readme.slice(readme.indexOf("\n## Tenant forms"), readme.indexOf("\n## For operators"));
const snippets = new Map(
  [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => [
    language as string,
    (code as string).replaceAll("http://127.0.0.1:8081", server.urls.forms as string),
  ]),
);

function run(command: string, args: readonly string[], key: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? "", FORMS_API_KEY: key };
  return new Promise((settle, reject) => {
    execFile(
      command,
      args,
      { env, timeout: 60_000 },
      (error, stdout) => error ? reject(error) : settle(stdout),
    );
  });
}

test("curl: the README's submission is accepted, and its repeat is a duplicate", async () => {
  const post = () => run("sh", ["-e", "-c", snippets.get("sh") as string], key.text);
  assert.match(await post(), /^HTTP\/1.1 202 .*"status":"accepted"/s);
  assert.match(await post(), /^HTTP\/1.1 200 .*"status":"duplicate"/s);
});

test("JavaScript: the README's function sends once, names what is missing, and tells its log of a wrong key", async () => {
  const submit = async (fields: Record<string, unknown>, key: string) => {
    const call = `submit(${JSON.stringify(fields)})`;
    const code = `${snippets.get("js")}\nconsole.log(JSON.stringify(await ${call}));`;
    return JSON.parse(await run("node", ["--input-type=module", "-e", code], key));
  };
  const fields = { name: "Grace Hopper", email: "grace@example.com", message: "Our gutters overflow." };
  const before = (await world.stored()).submissions;
  for (let time = 0; time < 2; time++) {
    assert.deepEqual(await submit(fields, key.text), { isSent: true, fields: {} });
  }
  assert.equal((await world.stored()).submissions, before + 1);

  assert.deepEqual(await submit({ ...fields, email: " " }, key.text), {
    isSent: false,
    fields: { email: "required" },
  });
  assert.deepEqual(await submit(fields, "form_live_wrong"), { isSent: false, fields: {} });
  assert.equal((await world.stored()).submissions, before + 1);
  assert.equal(form.formKey, "contact");
});
