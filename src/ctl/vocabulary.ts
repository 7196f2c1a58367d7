/** Defines the `ctl vocabulary` commands. */

import { fields } from "#src/contract/fields.ts";
import { isLongerThan, normalizeLine } from "#src/lead/text.ts";
import {
  addArea,
  type AreaStatus,
  changeArea,
  findArea,
  listAreas,
  listUnknownAreas,
  type Term,
} from "#src/store/operator/vocabulary.ts";
import { type Command, Refused, UsageError } from "./command.ts";
import { safe, shortTime } from "./terminal.ts";
import { listCommand } from "./list.ts";
import { parseChoice } from "./values.ts";

/** Normalizes a term like a lead's, so that leads can match it. */
function parseArea(text: string): string {
  const area = normalizeLine(text);
  if (area === "") throw new UsageError("AREA must not be blank");
  const { lengthMax } = fields.project_area;
  if (isLongerThan(area, lengthMax)) throw new UsageError(`AREA is longer than ${lengthMax} characters`);
  return area;
}

function areaReply(area: Term, sentence: string) {
  return { json: { area: area.area, status: area.status }, text: `"${safe(area.area)}" ${sentence}.` };
}

function concurrentChange(): Refused {
  return new Refused("Another operator changed the term in the meantime; run the command again");
}

const list = listCommand({
  words: "vocabulary list",
  summary: "List the terms of project_area, including retired ones",
  prepare: () => (pool) => listAreas(pool),
  empty: "No terms.",
  columns: {
    "AREA": ({ area }) => area,
    "STATUS": ({ status }) => status,
  },
});

const add: Command = {
  words: "vocabulary add",
  positionals: ["AREA"],
  options: {
    status: {
      value: "confirmed|proposed",
      description: "default confirmed; leads with either status are accepted without a flag",
    },
  },
  summary: "Add a term, or restore a retired one",
  notes:
    "The spelling is stored as given; leads match it regardless of case. Running servers use it within seconds.",
  prepare(input) {
    const area = parseArea(input.first);
    const status = parseChoice(input.option("status") ?? "confirmed", "--status", ["confirmed", "proposed"]);
    return async (pool) => {
      const found = await findArea(pool, area);
      if (found !== null && found.status !== "retired") {
        throw new Refused(`The vocabulary already has "${found.area}" (${found.status})`);
      }
      const done = found === null
        ? await addArea(pool, { area, status })
        : await changeArea(pool, found, { status, spelling: area });
      if (!done) throw concurrentChange();
      return areaReply({ area, status }, `is ${found === null ? "added" : "restored"} as ${status}`);
    };
  },
};

const statusCommand = (name: string, status: AreaStatus, summary: string): Command => ({
  words: `vocabulary ${name}`,
  positionals: ["AREA"],
  summary,
  prepare(input) {
    const area = parseArea(input.first);
    return async (pool) => {
      const found = await findArea(pool, area);
      if (found === null) {
        throw new Refused(`The vocabulary has no "${area}"; ctl vocabulary list shows its terms`);
      }
      if (found.status === status) return areaReply(found, `is already ${status}`);
      if (found.status === "retired") {
        throw new Refused(`"${found.area}" is retired; ctl vocabulary add "${found.area}" restores it`);
      }
      if (!await changeArea(pool, found, { status })) throw concurrentChange();
      return areaReply({ area: found.area, status }, `is ${status}`);
    };
  },
});

const confirm = statusCommand("confirm", "confirmed", "Ratify a proposed term");
const retire = statusCommand(
  "retire",
  "retired",
  "Retire a term: it is no longer published, and new leads with it are flagged",
);

const unknown = listCommand({
  words: "vocabulary unknown",
  isTenantScoped: true,
  limit: 100,
  summary: "List the terms that callers sent but the vocabulary does not contain",
  notes: `The most frequent terms come first. Terms that have since been added are not listed. Of each key,
1,000 new terms a day are kept; "(other)" counts the leads with further ones.`,
  prepare: () => listUnknownAreas,
  empty: "No unknown terms.",
  columns: {
    "TENANT": (term) => term.tenant,
    "TERM": (term) => term.term ?? "(other)",
    ">COUNT": (term) => String(term.count),
    "FIRST SEEN (UTC)": (term) => shortTime(term.firstAt),
    "LAST SEEN": (term) => shortTime(term.lastAt),
  },
});

export const vocabularyCommands: readonly Command[] = [list, add, confirm, retire, unknown];
