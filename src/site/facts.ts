/**
 * The facts that sources name in double braces, so that no page repeats a number, a code or a list that lives elsewhere:
 * those of the contract, of the database, of the settings, and the schema of the site's own database.
 */

import { envelopeRows } from "../documents/brief.ts";
import { clients } from "../documents/clients.ts";
import { contactSentence } from "../contract/contact.ts";
import { documents } from "../documents/published.ts";
import { type ErrorRule, errors, formErrors } from "../contract/errors.ts";
import { placeholders } from "../documents/examples.ts";
import { flagNames, flags, projectServices, requiredFields } from "../contract/fields.ts";
import {
  definitionOfDone,
  keyCheck,
  limitRows,
  normalization,
  retryPolicy,
  rules,
} from "../documents/guidance.ts";
import { type Kit, kits, kitsStatus, kitsSummary, kitsVersion } from "../documents/kits.ts";
import { dollars, grouped, limits, type Rate } from "../contract/limits.ts";
import { bullets, numbered, sentence } from "../documents/markdown.ts";
import { shellSnippets } from "../documents/snippets.ts";
import { exampleQueries, siteDataSchema } from "./site_data.ts";
import { categories } from "./categories.ts";
import type { AreaPage, PageSource, SiteContent } from "./source.ts";
import { cell, codeBlock, codeSpan, literal, planBlocks, table } from "./markdown.ts";

type Facts = Readonly<Record<string, string>>;

const codes = (items: readonly string[]) => items.map(codeSpan).join(", ");

const rate = ({ perMinute, burst }: Rate) =>
  `${grouped(perMinute)} requests a minute, ${grouped(burst)} at once`;

function numbers(): Facts {
  return {
    "body KiB": String(limits.bodyBytesMax / 1024),
    "timeout seconds": String(limits.requestTimeoutMs / 1000),
    "backoff cap seconds": String(limits.backoffCapSeconds),
    "retry-after seconds": String(limits.retryAfterSeconds),
    "key rate": rate(limits.keyRate),
    "address rate": rate(limits.ipRate),
    "form address rate": rate(limits.formsIpRate),
    "form tenant rate": rate(limits.formsTenantRate),
    "form content window minutes": String(limits.formContentWindowMinutes),
    "idempotency key length": grouped(limits.idempotencyKeyLengthMax),
    "request id length": grouped(limits.requestIdLengthMax),
    "content window hours": String(limits.contentWindowHours),
    "vocabulary minutes": String(limits.vocabularyMaxAgeSeconds / 60),
    "cost min": dollars(limits.costCentsMin),
    "cost max": dollars(limits.costCentsMax),
    "required fields": codes(requiredFields),
    "services": codes(projectServices),
    "example idempotency key": codeSpan(placeholders.idempotencyKey),
  };
}

function errorTable(rules: Readonly<Record<string, ErrorRule>>): string {
  const rows = Object.entries(rules).map(([code, rule]) => [
    String(rule.status),
    codeSpan(code),
    cell(sentence(rule.condition)),
    cell(sentence(rule.callerAction)),
    rule.retry,
  ]);
  return table(["Status", "Code", "When", "Do", "Retry"], rows);
}

function lists(): Facts {
  return {
    "rules": numbered(rules),
    "retry policy": numbered(retryPolicy),
    "definition of done": bullets(definitionOfDone),
    "normalization": bullets(normalization),
    "limits table": table(
      ["Limit", "Value", "About"],
      limitRows.map((row) => [row.limit, row.value, row.appliesTo].map(cell)),
    ),
    "envelope table": table(
      ["Field", "Required", "At most", "Rules"],
      envelopeRows.map((row) => row.map(cell)),
    ),
    "errors table": errorTable(errors),
    "form errors table": errorTable(formErrors),
    "flags table": table(["Flag", "Means"], flagNames.map((flag) => [codeSpan(flag), cell(flags[flag])])),
    "key check table": table(
      ["Answer", "Means"],
      keyCheck.map(({ answer, meaning }) => [cell(answer), cell(meaning)]),
    ),
    "kits summary": kitsSummary,
    "kits status": kitsStatus,
    "kits version": kitsVersion,
    "kits": table(
      ["Kit", "From", "Runs on"],
      kits.map(({ name, from, platform }) => [`[${name}](#${name})`, from, cell(platform)]),
    ),
    "kit sections": kits.map(kitSection).join("\n\n"),
  };
}

function kitSection({ name, about, platform, install, address, language, example }: Kit): string {
  return `### ${name}

${literal(about)} ${literal(platform)}.${address === undefined ? "" : ` Package: ${codeSpan(address)}`}

${codeBlock("sh", install)}

${codeBlock(language, example)}`;
}

function addresses({ urls }: SiteContent): Facts {
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
    "curl key check": codeBlock("sh", shell.keyCheck),
    "curl lead": codeBlock("sh", shell.postLead),
    "curl vocabulary": codeBlock("sh", shell.vocabulary),
    "curl types": codeBlock("sh", shell.types),
    "clients": Object.entries(clients).map(([language, { fence, files }]) =>
      [`## ${language}`, ...files(urls.intake).map((text) => codeBlock(fence, text))].join("\n\n")
    ).join("\n\n"),
    "acknowledgement": codeBlock(
      "json",
      JSON.stringify(
        {
          event_id: placeholders.eventId,
          status: "accepted",
          received_at: placeholders.receivedAt,
          source: placeholders.source,
          flags: [],
        },
        null,
        2,
      ),
    ),
  };
}

function database(): Facts {
  const queries = exampleQueries.map(({ about, sql }) => `${about}\n\n${codeBlock("sql", sql)}`);
  return {
    "schema": codeBlock("sql", siteDataSchema.map((statement) => `${statement};`).join("\n\n")),
    "queries": queries.join("\n\n"),
  };
}

function areaLists(areas: readonly AreaPage[]): Facts {
  const confirmed = areas.filter(({ status }) => status === "confirmed").length;
  const entry = ({ area, path, synonyms }: AreaPage) => {
    const also = synonyms.length === 0 ? "" : `: ${synonyms.map(literal).join(", ")}`;
    return `- [${literal(area)}](${path})${also}`;
  };
  const groups = categories.filter(({ parent }) => parent === "areas").flatMap(
    ({ id, name, description }) => {
      const own = areas.filter(({ category }) => category === id);
      return own.length === 0 ? [] : [`## ${name}\n\n${description}\n\n${own.map(entry).join("\n")}`];
    },
  );
  const waiting = areas.length - confirmed;
  return {
    "number of areas": String(areas.length),
    "area statuses": waiting === 0
      ? `All ${areas.length} terms are confirmed at the time of this build.`
      : `At the time of this build ${confirmed} terms are confirmed and ${waiting} proposed.`,
    "area groups": groups.join("\n\n"),
    "area links": areas.map(({ area, path }) => `[${literal(area)}](${path})`).join(" · "),
  };
}

function areaFacts(area: AreaPage): Facts {
  const means = area.status === "confirmed"
    ? "confirmed: a term that is used on purpose"
    : "proposed: it came with real traffic and is accepted just like a confirmed one";
  const rows = [
    ["Status", means],
    ...(area.synonyms.length === 0 ? [] : [["Callers also write", area.synonyms.map(literal).join(", ")]]),
  ];
  const example = {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "(555) 123-4567",
    project_area: area.area,
  };
  return {
    "area code": codeSpan(area.area),
    "area term": table(["In `project_area`", codeSpan(area.area)], rows),
    "area example": codeBlock("json", JSON.stringify(example, null, 2)),
  };
}

/** Fills the facts of one build in. */
interface FactFiller {
  /** @throws {Error} naming the source, when it asks for a fact that there is none of */
  fill(source: PageSource, area: AreaPage | null): string;
}

/** Collects the facts of one build. */
export function factsOf(content: SiteContent, areas: readonly AreaPage[]): FactFiller {
  const shared: Facts = {
    ...numbers(),
    ...lists(),
    ...addresses(content),
    ...database(),
    ...areaLists(areas),
    "plans": planBlocks(content.plans, content.isSold === true ? content.urls.subscription : null),
    "contact": contactSentence(content.contact ?? null),
  };
  return {
    fill({ path, body }, area) {
      const facts: Facts = area === null ? shared : { ...shared, ...areaFacts(area) };
      return body.replace(/\{\{([^{}\n]+)\}\}/g, (_, name: string) => {
        const fact = facts[name.trim()];
        if (fact === undefined) throw new Error(`${path} names {{${name}}}, and there is no such fact`);
        return fact;
      });
    },
  };
}
