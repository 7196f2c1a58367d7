/** `ctl form …` */

import { defaultThreshold } from "#src/forms/spam/score.ts";
import { isLongerThan, normalizeLine } from "#src/lead/text.ts";
import {
  addForm,
  changeForm,
  type FormDefinition,
  listForms,
  removeForm,
} from "#src/store/operator/form_definitions.ts";
import { formKeyShape } from "#src/store/serving/lookup.ts";
import {
  dismissSubmission,
  forgetSpamLearning,
  listHeld,
  markSpam,
  type Release,
  releaseSubmission,
  type SpamMark,
} from "#src/store/operator/held.ts";
import { type Command, type Input, Refused, WrongUsage } from "./command.ts";
import { listCommand, requireTenant } from "./list.ts";
import { shortTime } from "./terminal.ts";
import { parseCount } from "./values.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

// A probability: more would hold nothing.
const thresholdMax = 100;
// Far above what any form has; bounds what each submission is compared with.
const namesMax = 100;
const wordsMax = 500;
const itemLengthMax = 100;

/** A form's name in its address. */
function parseFormKey(text: string | undefined): string {
  if (text === undefined || !formKeyShape.test(text)) {
    throw new WrongUsage(
      `FORM_KEY must be 1 to 64 of A-Z, a-z, 0-9, ., _ and -, the first a letter or digit: ${text}`,
    );
  }
  return text;
}

function parseItems(text: string, name: string, countMax: number): string[] {
  const items = [...new Set(text.split(",").map(normalizeLine))];
  if (items.includes("")) throw new WrongUsage(`${name} has an empty item between its commas`);
  if (items.length > countMax) throw new WrongUsage(`${name} has more than ${countMax} items`);
  const long = items.find((item) => isLongerThan(item, itemLengthMax));
  if (long !== undefined) {
    throw new WrongUsage(`${name} has an item of more than ${itemLengthMax} characters: ${long}`);
  }
  return items;
}

function parseRequired(text: string): string[] {
  const names = parseItems(text, "--required", namesMax);
  // Nobody fills in the one, and the other is not a field.
  const never = names.find((name) => name === "website" || name === "form_key");
  if (never !== undefined) {
    throw new WrongUsage(`--required must not have ${never}, which no visitor fills in`);
  }
  return names;
}

/** The options that are given. */
function parseDefinition(input: Input): Partial<FormDefinition> {
  const required = input.option("required");
  const threshold = input.option("threshold");
  const blocked = input.option("blocked");
  return {
    ...(required === undefined ? {} : { required: parseRequired(required) }),
    ...(threshold === undefined ? {} : {
      threshold: threshold === "default" ? null : parseCount(threshold, "--threshold", thresholdMax),
    }),
    ...(blocked === undefined
      ? {}
      : { blocked: blocked.trim() === "" ? [] : parseItems(blocked, "--blocked", wordsMax) }),
  };
}

function definitionJson({ required, threshold, blocked }: FormDefinition) {
  return { required, threshold, blocked };
}

function thresholdText(threshold: number | null): string {
  return threshold === null ? `default (${defaultThreshold})` : String(threshold);
}

function noSuchForm(tenant: string, formKey: string): Refused {
  return new Refused(`Tenant ${tenant} has no form ${formKey}; ctl form list shows those there are`);
}

const settings = {
  threshold: {
    value: "N",
    description:
      `hold submissions that are spam with this probability or more, from 1 to 100; ${defaultThreshold}, or default, when left out`,
  },
  blocked: {
    value: "WORDS",
    description: "words and phrases, comma-separated; one of them is enough to hold a submission",
  },
} as const;

const add: Command = {
  words: "form add",
  positionals: ["TENANT", "FORM_KEY"],
  options: {
    required: { value: "NAMES", required: true, description: "required fields, comma-separated" },
    ...settings,
  },
  summary: "Add a form, or bring a removed one back",
  notes: `It takes posts at once, at /v1/forms/TENANT/FORM_KEY, with a key of the forms surface:
ctl key issue TENANT --label LABEL --surface forms. A higher threshold holds less.`,
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    const definition = { required: [], threshold: null, blocked: [], ...parseDefinition(input) };
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      if (!await addForm(pool, { tenantId, formKey }, definition)) {
        throw new Refused(`Tenant ${tenant} has a form ${formKey} already; ctl form change changes it`);
      }
      return {
        json: { tenant, form_key: formKey, ...definitionJson(definition) },
        text: `Added form ${formKey} of ${tenant}: POST /v1/forms/${tenant}/${formKey}`,
      };
    };
  },
};

const change: Command = {
  words: "form change",
  positionals: ["TENANT", "FORM_KEY"],
  options: { required: { value: "NAMES", description: "required fields, comma-separated" }, ...settings },
  summary: "Change a form; options that you leave out do not change",
  notes: `--threshold default restores the service's own, --blocked "" blocks no words. Running servers
know it within five seconds. Submissions that are held or delivered already do not change.`,
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    const wanted = parseDefinition(input);
    if (Object.keys(wanted).length === 0) {
      throw new WrongUsage("Missing: --required, --threshold or --blocked");
    }
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      const form = await changeForm(pool, { tenantId, formKey }, wanted);
      if (form === null) throw noSuchForm(tenant, formKey);
      return {
        json: { tenant, form_key: formKey, ...definitionJson(form) },
        text: `Form ${formKey} of ${tenant} requires ${form.required.join(", ")}; threshold ${
          thresholdText(form.threshold)
        }; ${form.blocked.length} blocked words.`,
      };
    };
  },
};

const remove: Command = {
  words: "form remove",
  positionals: ["TENANT", "FORM_KEY"],
  summary: "Remove a form: posts to it answer 404, its submissions stay",
  notes: "Running servers know it within five seconds. ctl form add brings it back.",
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      if (!await removeForm(pool, { tenantId, formKey })) throw noSuchForm(tenant, formKey);
      return { json: { tenant, form_key: formKey }, text: `Removed form ${formKey} of ${tenant}.` };
    };
  },
};

const list = listCommand({
  words: "form list",
  isOfTenant: true,
  summary: "List the forms",
  prepare: () => (pool, { tenantId }) => listForms(pool, tenantId),
  empty: "No forms yet; ctl form add TENANT FORM_KEY --required NAMES adds one.",
  columns: {
    "TENANT": (form) => form.tenant,
    "FORM": (form) => form.formKey,
    "REQUIRED": (form) => form.required.join(", "),
    "THRESHOLD": (form) => thresholdText(form.threshold),
    "BLOCKED": (form) => form.blocked.join(", ") || "-",
    "CREATED (UTC)": (form) => shortTime(form.createdAt),
  },
});

const held = listCommand({
  words: "form held",
  isOfTenant: true,
  limit: 50,
  order: "first",
  summary: "List submissions held as spam that you have not reviewed, the most likely real ones first",
  notes: `Their senders got the usual answer; the submissions are not delivered. ctl lead show SUBMISSION_ID
shows one, ctl form release SUBMISSION_ID sends it, ctl form dismiss SUBMISSION_ID takes it off
this list and leaves it held. The lowest score comes first, and honeypot hits come last.`,
  prepare: () => async (pool, page) => {
    const spam = await listHeld(pool, { ...page, verdict: "spam", after: null });
    const trapped = await listHeld(pool, { ...page, verdict: "honeypot", after: null });
    return [...spam, ...trapped].slice(0, page.limit);
  },
  empty: "Nothing is held.",
  columns: {
    "RECEIVED (UTC)": (submission) => shortTime(submission.receivedAt),
    "SUBMISSION ID": (submission) => submission.submissionId,
    "TENANT": (submission) => submission.tenant,
    "FORM": (submission) => submission.formKey,
    "SOURCE": (submission) => submission.source,
    "VERDICT": (submission) => submission.verdict,
    ">SCORE": (submission) => String(submission.score),
    "REASONS": (submission) => submission.reasons.join(", ") || "-",
  },
  json: ({ fields: _, ...rest }) => snakeCased(rest),
});

const refusals: Readonly<Record<Exclude<Release, "released">, (id: string) => string>> = {
  already: (id) => `${id} has been released already; ctl lead show ${id} shows its delivery`,
  clean: (id) => `${id} is not held: it was sent to delivery on arrival`,
  erased: (id) => `${id} has been erased; there is nothing left to deliver`,
  unknown: (id) => `There is no submission ${id}; ctl form held shows what is held`,
};

const release: Command = {
  words: "form release",
  positionals: ["SUBMISSION_ID"],
  summary: "Deliver a held submission",
  notes: "It is due at once. The audit records who released it.",
  prepare(input) {
    const id = input.first;
    return async (pool) => {
      const outcome = await releaseSubmission(pool, id, null);
      if (outcome !== "released") throw new Refused(refusals[outcome](id));
      return { json: { submission_id: id, released: true }, text: `Released ${id}; it is due at once.` };
    };
  },
};

const dismiss: Command = {
  words: "form dismiss",
  positionals: ["SUBMISSION_ID…"],
  summary: "Take held submissions off the list, and leave them held",
  notes: `You can still find, show and release each. The audit records who dismissed it. A submission that is
already reviewed does not change.`,
  prepare: ({ positionals: ids }) => async (pool) => {
    for (const id of ids) {
      const outcome = await dismissSubmission(pool, id, null);
      // An earlier review already took it off the list.
      if (outcome !== "dismissed" && outcome !== "already") throw new Refused(refusals[outcome](id));
    }
    return { json: { submission_ids: ids, dismissed: true }, text: `Dismissed ${ids.join(", ")}.` };
  },
};

const marks: Readonly<Record<Exclude<SpamMark, "marked">, (id: string) => string>> = {
  already: (id) => `${id} is labelled like that already`,
  held: (id) => `${id} is held, not delivered; ctl form dismiss ${id} leaves it held`,
  erased: (id) => `${id} has been erased; there is nothing left to learn from`,
  unknown: (id) => `There is no submission ${id}`,
};

const spam: Command = {
  words: "form spam",
  positionals: ["SUBMISSION_ID"],
  options: { undo: { description: "take the report back" } },
  summary: "Report a delivered submission as spam",
  notes: `The spam score learns from it, as from submissions that you release and dismiss. Its delivery
does not change. FORMS_SPAM_LEARN=off turns learning off.`,
  prepare(input) {
    const id = input.first;
    const isSpam = !input.has("undo");
    return async (pool) => {
      const mark = await markSpam(pool, id, { isSpam, address: null });
      if (mark !== "marked") throw new Refused(marks[mark](id));
      return {
        json: { submission_id: id, spam: isSpam },
        text: isSpam ? `Reported ${id} as spam.` : `Took back that ${id} is spam.`,
      };
    };
  },
};

const forgetLearning: Command = {
  words: "form forget-learning",
  summary: "Forget what the spam score has learned from you",
  notes: `Within seconds, every running server scores as if newly installed, and learns only from what you
release, dismiss or report from now on.`,
  prepare: () => async (pool) => {
    const labels = await forgetSpamLearning(pool);
    return { json: { forgotten: labels }, text: `Forgot what was learned from ${labels} submissions.` };
  },
};

/** The commands of this noun. */
export const formCommands: readonly Command[] = [
  add,
  change,
  remove,
  list,
  held,
  release,
  dismiss,
  spam,
  forgetLearning,
];
