import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitName } from "../../src/lead/full_name.ts";
import { messyText, runs } from "../support/lead/properties.ts";

const names: readonly (readonly [name: string, first: string, last: string])[] = [
  ["Ada Lovelace", "Ada", "Lovelace"],
  ["Lovelace", "", "Lovelace"],
  ["Ada King Lovelace", "Ada King", "Lovelace"],
  ["John Q. Public", "John Q.", "Public"],
  ["Robert E Lee", "Robert E", "Lee"],
  ["Ludwig van Beethoven", "Ludwig", "van Beethoven"],
  ["Oscar de la Hoya", "Oscar", "de la Hoya"],
  ["Ana de los Santos", "Ana", "de los Santos"],
  ["Otto von und zu Habsburg", "Otto von und", "zu Habsburg"],
  ["Van Morrison", "Van", "Morrison"],
  ["Al Green", "Al", "Green"],
  ["Martin Luther King Jr.", "Martin Luther", "King Jr."],
  ["Sammy Davis, Jr.", "Sammy", "Davis, Jr."],
  ["John van Dyke III", "John", "van Dyke III"],
  ["Ada Lovelace MD, PhD", "Ada", "Lovelace MD, PhD"],
  ["Ada Lovelace , Jr.", "Ada", "Lovelace Jr."],
  ["Smith Jr.", "", "Smith Jr."],
  ["Smith, Jr.", "", "Smith, Jr."],
  ["Lovelace, Ada", "Ada", "Lovelace"],
  ["van Beethoven, Ludwig", "Ludwig", "van Beethoven"],
  ["García López, Juan Carlos", "Juan Carlos", "García López"],
  ["Lovelace,", "", "Lovelace"],
  [", Ada", "", "Ada"],
  ["Lovelace, , Ada", "Ada", "Lovelace"],
  ["Ada Lovelace, , Jr.", "Ada", "Lovelace, Jr."],
  [",,", "", ""],
  ["María José García López", "María José García", "López"],
  ["Gabriel José de la Concordia", "Gabriel José", "de la Concordia"],
  ["Santiago Ramón y Cajal", "Santiago", "Ramón y Cajal"],
  ["José María Ortega y Gasset", "José María", "Ortega y Gasset"],
  ["Maria Costa e Silva", "Maria", "Costa e Silva"],
  ["山田 太郎", "山田", "太郎"],
  ["Jr.", "", "Jr."],
  ["", "", ""],
];
for (const [name, first, last] of names) {
  test(`the name ${JSON.stringify(name)} has the last name ${JSON.stringify(last)}`, () => {
    assert.deepEqual(splitName(name), [first, last]);
  });
}

test("no word of a name is lost or invented, and a name always has a last name", () => {
  const word = fc.oneof(
    fc.constantFrom("Ada", "de", "la", "van", "y", "E", "Jr.", "MD,", "García", "O'", ",", "St.", "李"),
    messyText,
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }).map((words) => words.join(" ")), (name) => {
      const parts = splitName(name);
      const letters = (text: string) => text.replace(/[\s,]/g, "").split("").sort().join("");
      assert.equal(letters(parts.join("")), letters(name));
      if (letters(name) !== "") assert.notEqual(letters(parts[1]), "", JSON.stringify(name));
    }),
    runs,
  );
});

test("a name of 60,000 words, commas or spaces is split in linear time", () => {
  const repeated = (part: string) => splitName(`Ada ${part.repeat(60_000)}x`).join("|");
  for (const part of ["a ", "de ", "Jr. ", " ", "y "]) assert.match(repeated(part), /^Ada.*\|.*x$/s);
  assert.equal(repeated(", "), "x|Ada");
});
