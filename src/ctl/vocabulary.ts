/** `ctl vocabulary …` */

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
import { type Command, Refused, WrongUsage } from "./command.ts";
import { safe, shortTime } from "./terminal.ts";
import { listCommand } from "./list.ts";

/** The term as a lead's would be normalized, or it could never match one. */
function parseArea(text: string): string {
  const area = normalizeLine(text);
  if (area === "") throw new WrongUsage("AREA must not be blank");
  const { lengthMax } = fields.project_area;
  if (isLongerThan(area, lengthMax)) throw new WrongUsage(`AREA is longer than ${lengthMax} characters`);
  return area;
}

function areaReply(area: Term, sentence: string) {
  return { json: { area: area.area, status: area.status }, text: `"${safe(area.area)}" ${sentence}.` };
}

function changedMeanwhile(): Refused {
  return new Refused("Another operator has changed the term meanwhile; run the command again");
}

const list = listCommand({
  words: "vocabulary list",
  summary: "List the terms of project_area, retired ones too",
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
    status: { value: "confirmed|proposed", description: "confirmed when left out; both are accepted alike" },
  },
  summary: "Add a term, or revive a retired one",
  notes: "The spelling is kept as given; leads match it in any case. Running servers know it within seconds.",
  prepare(input) {
    const area = parseArea(input.first);
    const status = input.option("status") ?? "confirmed";
    if (status !== "confirmed" && status !== "proposed") {
      throw new WrongUsage(`--status must be confirmed or proposed: ${status}`);
    }
    return async (pool) => {
      const found = await findArea(pool, area);
      if (found !== null && found.status !== "retired") {
        throw new Refused(`The vocabulary has "${found.area}" already (${found.status})`);
      }
      const done = found === null
        ? await addArea(pool, { area, status })
        : await changeArea(pool, found, { status, spelling: area });
      if (!done) throw changedMeanwhile();
      return areaReply({ area, status }, `is ${found === null ? "added" : "back"}, ${status}`);
    };
  },
};

const statusCommand = (verb: string, status: AreaStatus, summary: string): Command => ({
  words: `vocabulary ${verb}`,
  positionals: ["AREA"],
  summary,
  prepare(input) {
    const area = parseArea(input.first);
    return async (pool) => {
      const found = await findArea(pool, area);
      if (found === null) {
        throw new Refused(`The vocabulary has no "${area}"; ctl vocabulary list shows its terms`);
      }
      if (found.status === status) return areaReply(found, `is ${status} already`);
      if (found.status === "retired") {
        throw new Refused(`"${found.area}" is retired; ctl vocabulary add "${found.area}" revives it`);
      }
      if (!await changeArea(pool, found, { status })) throw changedMeanwhile();
      return areaReply({ area: found.area, status }, `is ${status}`);
    };
  },
});

const confirm = statusCommand("confirm", "confirmed", "Ratify a proposed term");
const retire = statusCommand("retire", "retired", "Retire a term: no longer listed, unknown in new leads");

const unknown = listCommand({
  words: "vocabulary unknown",
  options: { tenant: { value: "SLUG", description: "only what this tenant's leads had" } },
  isOfTenant: true,
  limit: 100,
  summary: "List the terms that callers sent and the vocabulary does not have",
  notes: "The most frequent first. A term that has been added since is no longer listed.",
  prepare: () => (pool, page) => listUnknownAreas(pool, page),
  empty: "No unknown terms.",
  columns: {
    "TENANT": (term) => term.tenant,
    "TERM": (term) => term.term,
    ">COUNT": (term) => String(term.count),
    "FIRST SEEN (UTC)": (term) => shortTime(term.firstAt),
    "LAST SEEN": (term) => shortTime(term.lastAt),
  },
});

/** The commands of this noun. */
export const vocabularyCommands: readonly Command[] = [list, add, confirm, retire, unknown];
