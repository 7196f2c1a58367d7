import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { World } from "../support/world.ts";

/** The README's command for a website's developer, word for word but for the address. */
const world = await World.open();
after(() => world.close());
const server = await world.start();
// As `npm start` has it.
const [row] = await world.sql<{ id: number }[]>`
  insert into tenant (slug, name, sandbox) values ('sandbox', 'Sandbox', true) returning id`;
const { key } = await world.formWithKey({ tenant: { id: row?.id as number, slug: "sandbox" } });

const section = readFileSync(new URL("../../docs/forms.md", import.meta.url), "utf8");
const snippets = new Map(
  [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => [
    language as string,
    (code as string).replaceAll("http://127.0.0.1:8081", server.urls.forms as string),
  ]),
);

function run(script: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? "", FORMS_API_KEY: key.text };
  return new Promise((settle, reject) => {
    execFile(
      "sh",
      ["-e", "-c", script],
      { env, timeout: 60_000 },
      (error, stdout) => error ? reject(error) : settle(stdout),
    );
  });
}

test("curl: the README's submission is accepted, and its repeat is a duplicate", async () => {
  const post = () => run(snippets.get("sh") as string);
  assert.match(await post(), /^HTTP\/1.1 202 .*"status":"accepted"/s);
  assert.match(await post(), /^HTTP\/1.1 200 .*"status":"duplicate"/s);
});
