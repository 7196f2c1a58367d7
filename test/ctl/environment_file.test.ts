import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEnvironmentFile } from "../../src/ctl/doctor.ts";

const cases: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ["values as they stand", "A=1\nB = two words  \n\nC=\n", { A: "1", B: "two words", C: "" }],
  ["no newline at the end", "A=1", { A: "1" }],
  ["comments", "# A=1\n; B=2\n  # C=3\nD=4#5\n", { D: "4#5" }],
  ["a comment that goes on", "# A=1 \\\nB=2\nC=3", { C: "3" }],
  ["lines that set nothing", "export A=1\nnonsense\n1A=2\nB=3", { B: "3" }],
  ["the last of two", "A=1\nA=2", { A: "2" }],
  ["double quotes", 'A="  x \\"y\\" \\$z \\n "\n', { A: '  x "y" $z \\n ' }],
  ["single quotes, in which nothing is special", "A=' x\\ \"y\" '\n", { A: ' x\\ "y" ' }],
  ["quotes over lines", 'A="x\ny"\nB=1', { A: "x\ny", B: "1" }],
  ["quotes in parts", "A=x'y z'\"w\"\n", { A: "xy zw" }],
  ["a line that goes on", "A=one\\\ntwo\nB=1", { A: "onetwo", B: "1" }],
  ["a backslash before a letter", "A=a\\bc\\ \n", { A: "abc " }],
  ["an address with a password", "DATABASE_URL=postgres://u:p%40=x@h:1/d?a=b\r\n", {
    DATABASE_URL: "postgres://u:p%40=x@h:1/d?a=b",
  }],
  ["a quote without its end", 'A="x', { A: "x" }],
  ["nothing", "", {}],
];

for (const [what, text, variables] of cases) {
  test(`a settings file is read as systemd reads it: ${what}`, () => {
    assert.deepEqual(parseEnvironmentFile(text), variables);
  });
}
