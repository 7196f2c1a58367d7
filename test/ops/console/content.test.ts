import assert from "node:assert/strict";
import { test } from "node:test";
import { extras } from "../../../src/ops/console/content.ts";
import { plain } from "../../support/console/plain.ts";

const list = (json: string) => plain(extras(json)).split("As JSON")[0]?.trim();

test("extras are labels and values, and what is within them is listed within", () => {
  const json = '{"utm":{"source":"ads","terms":["oak",{"x":1.10}]},"ok":true,"none":null,"e":{},"t":""}';
  assert.match(
    extras(json).text,
    /<span class="name"><bdi>utm<\/bdi><\/span> <ul class="extras"><li><span class="name"><bdi>source/,
  );
  assert.equal(list(json), "utm source ads terms oak x 1.10 ok yes none nothing e empty t an empty text");
  assert.equal(list("{}"), "empty");
});

test("digits, escapes and hostile text stay what they are, and the JSON is behind a disclosure as it came", () => {
  const json = '{"n":12345678901234567890.10,"<b>":"\\u0041<i>","a,b":[ "]" , [1 , 2] ]}';
  assert.equal(list(json), "n 12345678901234567890.10 <b> A<i> a,b ] 1 2");
  assert.match(
    extras(json).text,
    /<details><summary>As JSON<\/summary><pre[^>]*><bdi>\{&quot;n&quot;:12345678901234567890\.10,/,
  );
  assert.doesNotMatch(extras(json).text, /<b>|<i>/);
});

test("a list of thousands is cut, and says so", () => {
  const { text } = extras(JSON.stringify({ many: Array.from({ length: 5_000 }, (_, index) => index) }));
  assert.equal(text.split("<li>").length - 1, 200);
  assert.match(text, /There is more of it/);
  assert.doesNotMatch(extras('{"a":1}').text, /There is more of it/);
});
