/**
 * Fills in the facts that sources name in double braces, so that no page repeats a number, a code or a list that is
 * defined elsewhere.
 */

import { envelopeRows } from "../documents/brief.ts";
import { clients } from "../documents/clients.ts";
import { contactSentence } from "../contract/contact.ts";
import { documents } from "../documents/published.ts";
import { errors, formErrors } from "../contract/errors.ts";
import { acknowledgementExample, placeholders } from "../documents/examples.ts";
import { flagNames, flags, projectServices, requiredFields } from "../contract/fields.ts";
import {
  definitionOfDone,
  keyCheck,
  limitRows,
  normalization,
  retryPolicy,
  rules,
} from "../documents/guidance.ts";
import { type Kit, kits, kitsStatus, kitsSummary } from "../documents/kits.ts";
import { formatCents, formatCount, limits, type Rate } from "../contract/limits.ts";
import { bullets, code, codeList, errorTable, jsonCode, numbered, table } from "../documents/markdown.ts";
import { shellSnippets } from "../documents/snippets.ts";
import { exampleQueries, siteDataSchema } from "./site_data.ts";
import { categories } from "./categories.ts";
import type { AreaPage, PageSource, SiteContent } from "./source.ts";
import { codeSpan, escapeMarkdown, planBlocks } from "./markdown.ts";

type Facts = Readonly<Record<string, string>>;

const rate = ({ perMinute, burst }: Rate) =>
  `${formatCount(perMinute)} requests per minute, with bursts of ${formatCount(burst)}`;

function numberFacts(): Facts {
  return {
    "timeout seconds": String(limits.requestTimeoutMs / 1000),
    "key rate": rate(limits.keyRate),
    "address rate": rate(limits.ipRate),
    "form address rate": rate(limits.formsIpRate),
    "form tenant rate": rate(limits.formsTenantRate),
    "form content window minutes": String(limits.formContentWindowMinutes),
    "idempotency key length": formatCount(limits.idempotencyKeyLengthMax),
    "request id length": formatCount(limits.requestIdLengthMax),
    "content window hours": String(limits.contentWindowHours),
    "vocabulary minutes": String(limits.vocabularyMaxAgeSeconds / 60),
    "cost min": formatCents(limits.costCentsMin),
    "cost max": formatCents(limits.costCentsMax),
    "required fields": codeList(requiredFields),
    "services": codeList(projectServices),
    "example idempotency key": codeSpan(placeholders.idempotencyKey),
  };
}

function listFacts(): Facts {
  return {
    "rules": numbered(rules),
    "retry policy": numbered(retryPolicy),
    "definition of done": bullets(definitionOfDone),
    "normalization": bullets(normalization),
    "limits table": table(
      ["Limit", "Value", "Notes"],
      limitRows.map((row) => [row.limit, row.value, row.notes]),
    ),
    "envelope table": table(["Field", "Required", "Limit", "Rules"], envelopeRows),
    "errors table": errorTable(errors),
    "form errors table": errorTable(formErrors),
    "flags table": table(["Flag", "Meaning"], flagNames.map((flag) => [codeSpan(flag), flags[flag]])),
    "key check table": table(
      ["Response", "Meaning"],
      keyCheck.map(({ response, meaning }) => [response, meaning]),
    ),
    "kits summary": kitsSummary,
    "kits status": kitsStatus,
    "kits": table(
      ["Kit", "Language", "Runs on"],
      kits.map(({ name, from, platform }) => [`[${name}](#${name})`, from, platform]),
    ),
    "kit sections": kits.map(kitSection).join("\n\n"),
  };
}

function kitSection({ name, about, platform, install, address, language, example }: Kit): string {
  return `### ${name}

${escapeMarkdown(about)} ${escapeMarkdown(platform)}.${
    address === undefined ? "" : ` Package: ${codeSpan(address)}`
  }

${code("sh", install)}

${code(language, example)}`;
}

function addressFacts({ urls }: SiteContent): Facts {
  const shell = shellSnippets(urls.intake);
  return {
    "site url": urls.site,
    "intake url": urls.intake,
    "forms url": urls.forms,
    "subscription url": urls.subscription,
    "openapi url": urls.intake + documents.openapi.path,
    "brief page url": urls.intake + documents.briefPage.path,
    "forms brief page url": urls.intake + documents.formsBriefPage.path,
    "brief url": urls.intake + documents.brief.path,
    "forms brief url": urls.forms + documents.formsBrief.path,
    "playground url": urls.intake + documents.playground.path,
    "forms playground url": urls.forms + documents.formsPlayground.path,
    "curl key check": code("sh", shell.keyCheck),
    "curl lead": code("sh", shell.postLead),
    "curl vocabulary": code("sh", shell.vocabulary),
    "curl types": code("sh", shell.types),
    "clients": Object.entries(clients).map(([language, { fence, files }]) =>
      [`## ${language}`, ...files(urls.intake).map((text) => code(fence, text))].join("\n\n")
    ).join("\n\n"),
    "acknowledgement": jsonCode(acknowledgementExample("accepted")),
  };
}

function databaseFacts(): Facts {
  const queries = exampleQueries.map(({ about, sql }) => `${about}\n\n${code("sql", sql)}`);
  return {
    "schema": code("sql", siteDataSchema.map((statement) => `${statement};`).join("\n\n")),
    "queries": queries.join("\n\n"),
  };
}

function areaListFacts(areas: readonly AreaPage[]): Facts {
  const confirmed = areas.filter(({ status }) => status === "confirmed").length;
  const entry = ({ area, path, synonyms }: AreaPage) => {
    const synonymText = synonyms.length === 0 ? "" : `: ${synonyms.map(escapeMarkdown).join(", ")}`;
    return `- [${escapeMarkdown(area)}](${path})${synonymText}`;
  };
  const groups = categories.filter(({ parent }) => parent === "areas").flatMap(
    ({ id, name, description }) => {
      const inCategory = areas.filter(({ category }) => category === id);
      return inCategory.length === 0
        ? []
        : [`## ${name}\n\n${description}\n\n${inCategory.map(entry).join("\n")}`];
    },
  );
  const proposed = areas.length - confirmed;
  return {
    "number of areas": String(areas.length),
    "area statuses": proposed === 0
      ? `All ${areas.length} terms are currently confirmed.`
      : `Currently ${confirmed} terms are confirmed and ${proposed} proposed.`,
    "area groups": groups.join("\n\n"),
  };
}

function areaFacts(area: AreaPage): Facts {
  const status = area.status === "confirmed"
    ? "confirmed: a term in deliberate use"
    : "proposed: it appeared in real leads and is accepted like a confirmed term";
  const rows = [
    ["Status", status],
    ...(area.synonyms.length === 0
      ? []
      : [["Callers also write", area.synonyms.map(escapeMarkdown).join(", ")]]),
  ];
  const example = {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "(555) 123-4567",
    project_area: area.area,
  };
  return {
    "area code": codeSpan(area.area),
    "area term": table(["`project_area`", codeSpan(area.area)], rows),
    "area example": jsonCode(example),
  };
}

/** Returns a source's body with its facts filled in. Throws an `Error` that names the source if a fact is unknown. */
type FactFiller = (source: PageSource, area: AreaPage | null) => string;

/** Collects the facts for one build, and returns the function that fills them in. */
export function factFiller(content: SiteContent, areas: readonly AreaPage[]): FactFiller {
  const shared: Facts = {
    ...numberFacts(),
    ...listFacts(),
    ...addressFacts(content),
    ...databaseFacts(),
    ...areaListFacts(areas),
    "plans": planBlocks(content.plans, content.isSold === true ? content.urls.subscription : null),
    "contact": contactSentence(content.contact ?? null),
  };
  return ({ path, body }, area) => {
    const facts: Facts = area === null ? shared : { ...shared, ...areaFacts(area) };
    return body.replace(/\{\{([^{}\n]+)\}\}/g, (_, name: string) => {
      const fact = facts[name.trim()];
      if (fact === undefined) throw new Error(`${path} names {{${name}}}, which is not a fact`);
      return fact;
    });
  };
}
