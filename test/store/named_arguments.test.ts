import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../support/store.ts";
import { readSources } from "../support/source.ts";

const { sql } = await openStore();

/** What stands between the parenthesis that opens at a place and the one that closes it. */
function argumentsAt(text: string, start: number): string {
  for (let at = start, depth = 0; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    if (depth === 0) return text.slice(start + 1, at);
  }
  return text.slice(start);
}

test("a SQL function that takes two arrays of one type, or ten texts, is called by the names of all its parameters", async () => {
  const functions = await sql<{ name: string; parameters: string[] }[]>`
    select p.oid::regproc::text as name, p.proargnames[1:p.pronargs] as parameters
    from pg_proc as p
    where p.pronamespace in ('public'::regnamespace, 'actions'::regnamespace) and exists (
      select from unnest(p.proargtypes) as a (type) 
      where type::regtype::text like '%[]' or type = 'text'::regtype
      group by type having count(*) >= case type when 'text'::regtype then 10 else 2 end
    )`;
  const sources = readSources().filter(({ path }) => /^src\/.*\.ts$/.test(path));
  const called = new Set<string>();
  for (const { name, parameters } of functions) {
    for (const { path, text } of sources) {
      for (const { 0: call, index } of text.matchAll(new RegExp(`(select|from|,)\\s+${name}\\(`, "g"))) {
        const found = argumentsAt(text, index + call.length - 1).matchAll(/\b(p_\w+) => /g);
        assert.deepEqual(
          [...found].map(([, parameter]) => parameter).sort(),
          parameters.toSorted(),
          `${path}: ${name}`,
        );
        called.add(name);
      }
    }
  }
  assert.ok(called.has("accept") && called.has("settle_outbox"), [...called].join(", "));
});
