import assert from "node:assert/strict";
import { test } from "node:test";
import { csvText } from "../../src/http/csv.ts";

test("cells are quoted as in RFC 4180 and rows end with CRLF", () => {
  const rows = [["a", "b,c", 'say "hi"'], ["two\nlines", "two\r\nlines", ""], [1, 2.5, null]];
  assert.equal(csvText(rows), 'a,"b,c","say ""hi"""\r\n"two\nlines","two\r\nlines",\r\n1,2.5,\r\n');
  assert.equal(csvText([]), "");
});

test("a text that a spreadsheet would run as a formula gets an apostrophe, full-width too; a number does not", () => {
  for (const first of ["=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"]) {
    assert.equal(csvText([[`${first}1+1`]]), `'${first}1+1\r\n`);
  }
  assert.equal(csvText([["\r=1", "\n=1"]]), `"'\r=1","'\n=1"\r\n`);
  assert.equal(csvText([['=cmd|"/c calc"!A1']]), `"'=cmd|""/c calc""!A1"\r\n`);
  // Some countries use a semicolon as the list separator.
  assert.equal(
    csvText([["x;=1", "moat: 1; @x: 2", "a\t+1", "a; b=1"]]),
    "x;'=1,moat: 1; '@x: 2,a\t'+1,a; b=1\r\n",
  );
  assert.equal(csvText([["a=1", "1-2", -1, "José", "😀"]]), "a=1,1-2,-1,José,😀\r\n");
});
