/** Defines the `ctl form` commands. */

import { storedFeatures } from "#src/forms/learning.ts";
import { defaultThreshold } from "#src/forms/spam/score.ts";
import { isLongerThan, normalizeLine } from "#src/lead/text.ts";
import {
  addForm,
  changeForm,
  type FormDefinition,
  listForms,
  removeForm,
} from "#src/store/operator/form_definitions.ts";
import { formKeyPattern } from "#src/store/serving/lookup.ts";
import {
  dismissSubmission,
  forgetSpamLearning,
  listHeld,
  markSpam,
  readHeldCounts,
  type Release,
  releaseSubmission,
  type SpamMark,
} from "#src/store/operator/held.ts";
import { type Command, type Input, Refused, UsageError } from "./command.ts";
import { requireYes, yesOption } from "./confirm.ts";
import { listCommand, requireTenant } from "./list.ts";
import { boundedText, counted, shortTime } from "./terminal.ts";
import { parseCount, parseEventId, parseEventIds } from "./values.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

// The threshold is a percentage.
const thresholdMax = 100;
// Far above what any form needs; bounds the work per submission.
const namesMax = 100;
const wordsMax = 500;
const itemLengthMax = 100;

/** Parses a form key, the last part of the form's URL. */
function parseFormKey(text: string | undefined): string {
  if (text === undefined || !formKeyPattern.test(text)) {
    throw new UsageError(
      `FORM_KEY must be 1 to 64 characters from A-Z, a-z, 0-9, ., _ and -, starting with a letter or digit: ${text}`,
    );
  }
  return text;
}

function parseItems(text: string, name: string, countMax: number): string[] {
  const items = [...new Set(text.split(",").map(normalizeLine))];
  if (items.includes("")) throw new UsageError(`${name} contains an empty item`);
  if (items.length > countMax) throw new UsageError(`${name} has more than ${countMax} items`);
  const long = items.find((item) => isLongerThan(item, itemLengthMax));
  if (long !== undefined) {
    throw new UsageError(`${name} has an item of more than ${itemLengthMax} characters: ${long}`);
  }
  return items;
}

function parseRequired(text: string): string[] {
  const names = parseItems(text, "--required", namesMax);
  // website is the honeypot; form_key is not a field.
  const forbidden = names.find((name) => name === "website" || name === "form_key");
  if (forbidden !== undefined) {
    throw new UsageError(`--required must not contain ${forbidden}, which no visitor fills in`);
  }
  return names;
}

/** Parses the options that were given. */
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
  return new Refused(`Tenant ${tenant} has no form ${formKey}; see ctl form list`);
}

const settingOptions = {
  threshold: {
    value: "N|default",
    description:
      `hold submissions whose spam probability is at least N percent (1 to 100; default: ${defaultThreshold})`,
  },
  blocked: {
    value: "WORDS",
    description: "comma-separated words and phrases; a submission that contains one of them is held",
  },
} as const;

const add: Command = {
  words: "form add",
  positionals: ["TENANT", "FORM_KEY"],
  options: {
    required: { value: "NAMES", required: true, description: "required fields, comma-separated" },
    ...settingOptions,
  },
  summary: "Add a form, or restore a removed one",
  notes: `The form accepts submissions immediately, at POST /v1/forms/TENANT/FORM_KEY, with a forms key:
ctl key issue TENANT --label LABEL --surface forms. The higher the threshold, the fewer submissions are held.`,
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    const definition = { required: [], threshold: null, blocked: [], ...parseDefinition(input) };
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      if (!await addForm(pool, { tenantId, formKey }, definition)) {
        throw new Refused(`Tenant ${tenant} already has a form ${formKey}; ctl form change changes it`);
      }
      return {
        json: { tenant, form_key: formKey, ...definitionJson(definition) },
        text: `Added form ${formKey} to ${tenant}: POST /v1/forms/${tenant}/${formKey}`,
      };
    };
  },
};

const change: Command = {
  words: "form change",
  positionals: ["TENANT", "FORM_KEY"],
  options: {
    required: { value: "NAMES", description: "required fields, comma-separated" },
    ...settingOptions,
  },
  summary: "Change a form; settings that you leave out keep their values",
  notes:
    `--threshold default restores the service's default; --blocked "" clears the list of words. Running servers
apply the change within five seconds. Submissions that are already held or delivered do not change.`,
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    const changes = parseDefinition(input);
    if (Object.keys(changes).length === 0) {
      throw new UsageError("Missing: --required, --threshold or --blocked");
    }
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      const form = await changeForm(pool, { tenantId, formKey }, changes);
      if (form === null) throw noSuchForm(tenant, formKey);
      return {
        json: { tenant, form_key: formKey, ...definitionJson(form) },
        text: `Form ${formKey} of ${tenant} requires ${form.required.join(", ")}; threshold ${
          thresholdText(form.threshold)
        }; ${counted(form.blocked.length, "blocked word")}.`,
      };
    };
  },
};

const remove: Command = {
  words: "form remove",
  positionals: ["TENANT", "FORM_KEY"],
  summary: "Remove a form: posts to it get 404, but its submissions are kept",
  notes:
    "Running servers apply the change within five seconds. ctl form add adds the form again, with new settings.",
  prepare(input) {
    const [tenant = "", key] = input.positionals;
    const formKey = parseFormKey(key);
    return async (pool) => {
      const { id: tenantId } = await requireTenant(pool, tenant);
      if (!await removeForm(pool, { tenantId, formKey })) throw noSuchForm(tenant, formKey);
      return { json: { tenant, form_key: formKey }, text: `Removed form ${formKey} from ${tenant}.` };
    };
  },
};

const list = listCommand({
  words: "form list",
  isTenantScoped: true,
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
  isTenantScoped: true,
  limit: 50,
  order: "first",
  summary: "List unreviewed submissions held as spam, starting with those most likely to come from a person",
  notes: `Their senders got the usual response; the submissions are not delivered. ctl lead show SUBMISSION_ID
shows one, ctl form release SUBMISSION_ID delivers it, and ctl form dismiss SUBMISSION_ID removes it from
this list but leaves it held. The lowest score comes first. Honeypot hits, whose hidden field was filled in,
are not in this list; --honeypot lists them.`,
  options: { honeypot: { description: "list the honeypot hits instead" } },
  prepare(input) {
    const verdict = input.has("honeypot") ? "honeypot" : "spam";
    return (pool, page) => listHeld(pool, { ...page, verdict, after: null });
  },
  footer: async (pool, { tenantId }) => {
    const { toReview, honeypotHits } = await readHeldCounts(pool, tenantId);
    if (honeypotHits.count === 0) return null;
    return `${boundedText(toReview, "submission")} to review, and ${
      boundedText(honeypotHits, "honeypot hit")
    } apart (--honeypot).`;
  },
  empty: "No held submissions are waiting for review.",
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

const releaseRefusals: Readonly<Record<Exclude<Release, "released">, (id: string) => string>> = {
  already: (id) => `${id} has already been released; ctl lead show ${id} shows its delivery`,
  clean: (id) => `${id} is not held: it was queued for delivery on arrival`,
  erased: (id) => `The content of ${id} was erased or has expired`,
  unknown: (id) => `There is no submission ${id}; ctl form held shows what is held`,
};

const decision = { operator: null, labelFeatures: storedFeatures };

const release: Command = {
  words: "form release",
  positionals: ["SUBMISSION_ID…"],
  options: yesOption,
  summary: "Deliver held submissions",
  notes:
    `Delivery starts immediately: the customer gets an email for each. More than one are released only after
you confirm it on the terminal; without a terminal, --yes is required. If an ID is refused, the message names
it, and the others are released. The audit log records who released them.
--json prints {"released":[ids]}.`,
  prepare(input) {
    const ids = parseEventIds(input.positionals, "SUBMISSION_ID");
    return async (pool) => {
      if (ids.length > 1) {
        await requireYes(
          input,
          `Release ${ids.length} submissions? The customer gets an email for each now.`,
        );
      }
      const refusals: string[] = [];
      for (const id of ids) {
        const outcome = await releaseSubmission(pool, id, decision);
        if (outcome !== "released") refusals.push(releaseRefusals[outcome](id));
      }
      const [first, ...others] = refusals;
      if (first !== undefined) {
        const released = ids.length - refusals.length;
        throw new Refused(
          released === 0 ? first : `${first}; ${counted(released, "other")} released`,
          { details: others },
        );
      }
      return { json: { released: ids }, text: `Released ${ids.join(", ")}; delivery starts immediately.` };
    };
  },
};

const dismiss: Command = {
  words: "form dismiss",
  positionals: ["SUBMISSION_ID…"],
  summary: "Mark held submissions as reviewed: they leave the list of ctl form held, but stay held",
  notes:
    `You can still find, show and release them. The audit log records who dismissed them. A submission that
is already reviewed does not change.`,
  prepare: ({ positionals }) => {
    const ids = parseEventIds(positionals, "SUBMISSION_ID");
    return async (pool) => {
      for (const id of ids) {
        const outcome = await dismissSubmission(pool, id, decision);
        // An earlier review already removed the submission from the list.
        if (outcome !== "dismissed" && outcome !== "already") throw new Refused(releaseRefusals[outcome](id));
      }
      return { json: { submission_ids: ids, dismissed: true }, text: `Dismissed ${ids.join(", ")}.` };
    };
  },
};

const spamRefusals: Readonly<Record<Exclude<SpamMark, "marked">, (id: string, isSpam: boolean) => string>> = {
  already: (id, isSpam) => `${id} is ${isSpam ? "already" : "not"} reported as spam`,
  held: (id) => `${id} is held and was not delivered; to confirm that it is spam, run ctl form dismiss ${id}`,
  erased: (id) => `The content of ${id} was erased or has expired; there is nothing left to learn from`,
  unknown: (id) => `There is no submission ${id}`,
};

const spam: Command = {
  words: "form spam",
  positionals: ["SUBMISSION_ID"],
  options: { undo: { description: "withdraw the report" } },
  summary: "Report a delivered submission as spam",
  notes: `The spam filter learns from the report, as it does from releases and dismissals. The submission's
delivery is not affected. FORMS_SPAM_LEARN=off turns learning off.`,
  prepare(input) {
    const id = parseEventId(input.first, "SUBMISSION_ID");
    const isSpam = !input.has("undo");
    return async (pool) => {
      const mark = await markSpam(pool, id, { isSpam, ...decision });
      if (mark !== "marked") throw new Refused(spamRefusals[mark](id, isSpam));
      return {
        json: { submission_id: id, spam: isSpam },
        text: isSpam ? `Reported ${id} as spam.` : `Withdrew the spam report for ${id}.`,
      };
    };
  },
};

const forgetLearning: Command = {
  words: "form forget-learning",
  summary: "Discard what the spam filter has learned from releases, dismissals and reports",
  notes: `Within seconds, every running server scores as if newly installed, and learns only from later
releases, dismissals and reports.`,
  prepare: () => async (pool) => {
    const labels = await forgetSpamLearning(pool);
    return {
      json: { forgotten: labels },
      text: `The spam filter forgot what it learned from ${counted(labels, "submission")}.`,
    };
  },
};

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
