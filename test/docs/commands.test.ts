/** Runs every command of the documents as written, page by page. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { errors, formErrors } from "../../src/contract/errors.ts";
import { opsErrors } from "../../src/ops/reply.ts";
import { planErrors } from "../../src/plans/reply.ts";
import { blocksOf, brokenLinks, readPages } from "../support/docs/pages.ts";
import { Reader } from "../support/docs/reader.ts";
import { pasteServed } from "../support/served.ts";

const pages = readPages();
const reader = await Reader.open();

for (const block of pages.flatMap(blocksOf)) {
  const { page, line, language, text, excuse } = block;
  if (excuse !== null || !["sh", "sql"].includes(language)) continue;
  test(`${page}:${line}: ${text.split("\n")[0]}`, async () => {
    if (language === "sql") return await reader.query(text);
    const output = await pasteServed(() => reader.paste(text));
    if (!text.includes("curl -i")) return;
    assert.match(output, /^HTTP\/1\.1 202 [^]*"status":"accepted"/m);
    assert.match(await pasteServed(() => reader.paste(text)), /^HTTP\/1\.1 200 [^]*"status":"duplicate"/m);
  });
}

test("every skipped command in the documents has a reason", () => {
  const fences = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/^ *```(sh|sql|bash|shell|console)$/gm)].map(() => path)
  );
  const known = pages.flatMap(blocksOf).filter(({ language }) => ["sh", "sql"].includes(language));
  assert.deepEqual(known.map(({ page }) => page), fences);
});

test("every error code in the documents is one that the service returns", () => {
  const statusOf = (rules: Readonly<Record<string, { status: number }>>) =>
    Object.entries(rules).map(([code, { status }]) => `${status} \`${code}\``);
  const given = new Set([
    "202 `accepted`",
    "200 `duplicate`",
    ...statusOf(errors),
    ...statusOf(formErrors),
    ...Object.entries({ ...planErrors, ...opsErrors }).map(([code, status]) => `${status} \`${code}\``),
  ]);
  const named = pages.flatMap(({ text }) => text.match(/\b[2-5]\d\d `[a-z_]+`/g) ?? []);
  assert.deepEqual(named.filter((answer) => !given.has(answer)), []);
});

test("every file and folder named in the documents exists", () => {
  const named = /`((?:src|sql|scripts|test|kits|docs|\.ci)\/[\w./-]*)`/g;
  const gone = pages.flatMap(({ path, text }) =>
    [...text.matchAll(named)].filter(([, name = ""]) =>
      !existsSync(new URL(`../../${name}`, import.meta.url))
    )
      .map(([, name]) => `${path}: ${name}`)
  );
  assert.deepEqual(gone, []);
});

for (const page of pages) {
  test(`every link in ${page.path} resolves`, () => assert.deepEqual(brokenLinks(page), []));
}
