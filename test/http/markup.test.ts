import assert from "node:assert/strict";
import test from "node:test";
import { markup, rich } from "../../src/http/markup.ts";

test("values are escaped, markup is not, lists are joined, and nothing is nothing", () => {
  const value = `<b a="1" c='2'>&`;
  assert.equal(markup`<p>${value}</p>`.text, "<p>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;</p>");
  assert.equal(markup`<p>${[markup`<i>${1}</i>`, "<", null, false]}</p>`.text, "<p><i>1</i>&lt;</p>");
});

test("backticks become code, and what is in them is escaped too", () => {
  assert.equal(rich("send `<cost>` & go").text, "send <code>&lt;cost&gt;</code> &amp; go");
});
