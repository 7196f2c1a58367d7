/** Builds the graph nodes for each kind of page: articles, APIs, terms, plans, kits, questions. */

import { type ErrorRule, errors, formErrors } from "../contract/errors.ts";
import { fieldNames, fields, flagNames, flags } from "../contract/fields.ts";
import { kits } from "../documents/kits.ts";
import { documents } from "../documents/published.ts";
import { render } from "../http/markdown.ts";
import type { Plan } from "../store/serving/plans.ts";
import type { Site, SitePage } from "./assemble.ts";
import { extraMembers } from "./markdown.ts";
import type { AreaPage, PageKind } from "./source.ts";

export interface Reference {
  readonly "@id": string;
}

export type PropertyValue =
  | string
  | number
  | boolean
  | readonly (string | number)[]
  | Reference
  | readonly Reference[];

/** A node; properties that are `undefined` are omitted. */
export interface GraphNode {
  readonly "@id": string;
  readonly "@type": string;
  readonly [property: string]: PropertyValue | undefined;
}

export const siteName = "Lead Intake Service";

export const siteLanguage = "en";

export const ref = (id: string): Reference => ({ "@id": id });

/** Returns the id of the term that a page describes. */
export function termId(page: { readonly url: string }): string {
  return `${page.url}#term`;
}

/** The page's main entity and related nodes. */
interface MainNodes {
  readonly main: GraphNode | null;
  readonly further: readonly GraphNode[];
}

/** Builds the nodes for one kind of page. */
type Builder = (site: Site, page: SitePage) => MainNodes;

const plain = (text: string) => text.replaceAll("`", "");
/** Encodes text as part of an `@id`. */
const fragment = (text: string) => encodeURIComponent(text.toWellFormed());

/** Builds a set of terms that one page defines. */
function termSet(
  page: SitePage,
  name: string,
  terms: readonly { readonly code: string; readonly description: string }[],
  description: string,
): GraphNode[] {
  const id = `${page.url}#${name}`;
  const term = (code: string) => `${id}-${fragment(code)}`;
  return [
    {
      "@id": id,
      "@type": "DefinedTermSet",
      name,
      description,
      url: page.url,
      hasDefinedTerm: terms.map(({ code }) => ref(term(code))),
    },
    ...terms.map(({ code, description }): GraphNode => ({
      "@id": term(code),
      "@type": "DefinedTerm",
      name: code,
      description: plain(description),
      termCode: code,
      url: page.url,
      inDefinedTermSet: ref(id),
    })),
  ];
}

/** Builds the set of terms that have their own pages. */
function setOfPages(page: SitePage, name: string, terms: readonly { readonly url: string }[]): GraphNode {
  return {
    "@id": `${page.url}#set`,
    "@type": "DefinedTermSet",
    name,
    description: page.description,
    url: page.url,
    hasDefinedTerm: terms.length === 0 ? undefined : terms.map((term) => ref(termId(term))),
  };
}

const areas: Builder = (site, page) => ({
  main: setOfPages(page, "project_area", site.areas.map(({ path }) => ({ url: pageUrl(site, path) }))),
  further: [],
});

const services: Builder = (site, page) => ({
  main: setOfPages(page, "project_service", site.pages.filter(({ kind }) => kind === "service")),
  further: [],
});

const pageUrl = (site: Site, path: string) => site.content.urls.site + path;

const area: Builder = (site, page) => {
  const term = page.area as AreaPage;
  return {
    main: {
      "@id": termId(page),
      "@type": "DefinedTerm",
      name: term.area,
      alternateName: term.synonyms.length === 0 ? undefined : [...term.synonyms],
      description: page.description,
      disambiguatingDescription: `${term.status} term of project_area`,
      termCode: term.area,
      url: page.url,
      inDefinedTermSet: ref(pageUrl(site, "/areas/#set")),
      mainEntityOfPage: ref(`${page.url}#webpage`),
    },
    further: [],
  };
};

const service: Builder = (site, page) => ({
  main: {
    "@id": termId(page),
    "@type": "DefinedTerm",
    name: page.service ?? page.title,
    alternateName: page.synonyms.length === 0 ? undefined : [...page.synonyms],
    description: page.description,
    termCode: page.service ?? undefined,
    url: page.url,
    inDefinedTermSet: ref(pageUrl(site, "/services/#set")),
    mainEntityOfPage: ref(`${page.url}#webpage`),
  },
  further: [],
});

/** Returns a page's sections under second-level headings, as plain text. */
function sections(
  page: SitePage,
): { readonly id: string; readonly title: string; readonly text: string }[] {
  const parts = page.markdown.split(/^## /m).slice(1);
  const headings = page.rendered.headings.filter(({ depth }) => depth === 2);
  return parts.map((part, n) => ({
    id: headings[n]?.id ?? "",
    title: headings[n]?.text ?? "",
    text: render(part.replace(/^[^\n]*\n/, "")).text,
  }));
}

/** Builds the nodes for the glossary, in which each section defines a term. */
const glossary: Builder = (_, page) => {
  const entries = sections(page);
  const setId = `${page.url}#set`;
  return {
    main: {
      "@id": setId,
      "@type": "DefinedTermSet",
      name: page.title,
      description: page.description,
      url: page.url,
      hasDefinedTerm: entries.map(({ id }) => ref(`${page.url}#${id}`)),
    },
    further: entries.map(({ id, title, text }): GraphNode => ({
      "@id": `${page.url}#${id}`,
      "@type": "DefinedTerm",
      name: title,
      description: text,
      url: `${page.url}#${id}`,
      inDefinedTermSet: ref(setId),
    })),
  };
};

const durations: Readonly<Record<string, string>> = { day: "P1D", week: "P1W", month: "P1M", year: "P1Y" };

function offer(page: SitePage, plan: Plan): GraphNode[] {
  const id = `${page.url}#plan-${fragment(plan.slug)}`;
  const amount = (plan.amountCents / 100).toFixed(2);
  const details = [
    ...plan.items.map(({ title, detail }) => [title, detail] as const),
    ...extraMembers(plan),
  ];
  return [
    {
      "@id": id,
      "@type": "Offer",
      name: plan.name,
      identifier: plan.slug,
      url: page.url,
      price: amount,
      priceCurrency: "USD",
      offeredBy: ref(customerId(page, plan)),
      priceSpecification: ref(`${id}-price`),
      additionalProperty: details.length === 0
        ? undefined
        : details.map((_, n) => ref(`${id}-item-${n + 1}`)),
    },
    {
      "@id": `${id}-price`,
      "@type": "UnitPriceSpecification",
      name: `${plan.name}: price per ${plan.interval}`,
      price: amount,
      priceCurrency: "USD",
      unitText: plan.interval,
      billingDuration: durations[plan.interval],
    },
    ...details.map(([name, value], n): GraphNode => ({
      "@id": `${id}-item-${n + 1}`,
      "@type": "PropertyValue",
      name,
      value,
    })),
  ];
}

const customerId = (page: SitePage, plan: Plan) => `${page.url}#customer-${fragment(plan.customer)}`;

const plans: Builder = ({ content }, page) => {
  const customers = new Map(content.plans.map((plan) => [customerId(page, plan), plan.customerName]));
  return {
    main: {
      "@id": `${page.url}#catalog`,
      "@type": "OfferCatalog",
      name: "Subscription plans",
      url: page.url,
      numberOfItems: content.plans.length,
      itemListElement: content.plans.length === 0
        ? undefined
        : content.plans.map(({ slug }) => ref(`${page.url}#plan-${fragment(slug)}`)),
    },
    further: [
      ...[...customers].map(([id, name]): GraphNode => ({ "@id": id, "@type": "Organization", name })),
      ...content.plans.flatMap((plan) => offer(page, plan)),
    ],
  };
};

function techArticle({ content: { urls } }: Site, page: SitePage, about?: string): GraphNode {
  return {
    "@id": `${page.url}#article`,
    "@type": "TechArticle",
    name: page.title,
    headline: page.title,
    description: page.description,
    url: page.url,
    inLanguage: siteLanguage,
    dateModified: page.updated ?? undefined,
    author: ref(`${urls.site}/#organization`),
    publisher: ref(`${urls.site}/#organization`),
    isPartOf: ref(`${page.url}#webpage`),
    about: about === undefined ? undefined : ref(about),
  };
}

const apiId = (site: Site) => `${site.content.urls.site}/intake/#api`;
const formsId = (site: Site) => `${site.content.urls.site}/forms/#api`;

const article: Builder = (site, page) => ({ main: techArticle(site, page), further: [] });

const home: Builder = ({ content: { urls } }, page) => ({
  main: {
    "@id": `${urls.site}/#service`,
    "@type": "Service",
    name: siteName,
    serviceType: "Lead intake",
    description: page.description,
    url: page.url,
    provider: ref(`${urls.site}/#organization`),
    hasOfferCatalog: ref(`${urls.site}/plans/#catalog`),
  },
  further: [],
});

const api: Builder = (site, page) => {
  const { urls } = site.content;
  const main: GraphNode = {
    "@id": apiId(site),
    "@type": "WebAPI",
    name: "Lead intake API",
    description: page.description,
    url: `${urls.intake}/v1/intake`,
    serviceType: "Lead intake",
    documentation: [page.url, urls.intake + documents.openapi.path, urls.intake + documents.brief.path],
    provider: ref(`${urls.site}/#organization`),
  };
  return { main, further: [techArticle(site, page, apiId(site))] };
};

function errorTerms(rules: Readonly<Record<string, ErrorRule>>) {
  return Object.entries(rules).map(([code, rule]) => ({
    code,
    description: `${rule.status}: ${rule.condition}. ${rule.callerAction}; retry: ${rule.retry}`,
  }));
}

const forms: Builder = (site, page) => {
  const { urls } = site.content;
  const main: GraphNode = {
    "@id": formsId(site),
    "@type": "WebAPI",
    name: "Tenant forms API",
    description: page.description,
    url: `${urls.forms}/v1/forms`,
    serviceType: "Form intake",
    documentation: [page.url, urls.intake + documents.openapi.path, urls.forms + documents.formsBrief.path],
    provider: ref(`${urls.site}/#organization`),
  };
  const codes = errorTerms(formErrors);
  return {
    main,
    further: [
      techArticle(site, page, formsId(site)),
      ...termSet(page, "errors", codes, "The error codes of the forms endpoint."),
    ],
  };
};

const envelope: Builder = (site, page) => {
  const terms = fieldNames.map((code) => ({ code, description: fields[code].description }));
  return {
    main: techArticle(site, page, apiId(site)),
    further: termSet(page, "fields", terms, "The string fields of the lead envelope."),
  };
};

const responses: Builder = (site, page) => {
  const codes = errorTerms(errors);
  const flagTerms = flagNames.map((code) => ({ code, description: flags[code] }));
  return {
    main: techArticle(site, page, apiId(site)),
    further: [
      ...termSet(page, "errors", codes, "The error codes of the intake."),
      ...termSet(page, "flags", flagTerms, "Observations about an accepted lead."),
    ],
  };
};

/** The names of programming languages, by their names in code blocks; `sh` has none. */
const programmingLanguages: Readonly<Record<string, string>> = {
  csharp: "C#",
  go: "Go",
  java: "Java",
  js: "JavaScript",
  php: "PHP",
  python: "Python",
  ruby: "Ruby",
  rust: "Rust",
};

const codeKits: Builder = (site, page) => {
  const id = (name: string) => `${page.url}#${name}`;
  return {
    main: {
      "@id": `${page.url}#list`,
      "@type": "ItemList",
      name: page.title,
      numberOfItems: kits.length,
      itemListElement: kits.map(({ name }) => ref(id(name))),
    },
    further: kits.map(({ name, language, about, platform, address }): GraphNode => ({
      "@id": id(name),
      "@type": "SoftwareSourceCode",
      name,
      description: plain(about),
      url: page.url,
      programmingLanguage: programmingLanguages[language],
      runtimePlatform: platform,
      ...(address === undefined ? {} : { identifier: address }),
      about: ref(apiId(site)),
    })),
  };
};

const faq: Builder = (_, page) => ({
  main: null,
  further: sections(page).flatMap(({ id, title, text }): GraphNode[] => [
    {
      "@id": `${page.url}#${id}`,
      "@type": "Question",
      name: title,
      url: `${page.url}#${id}`,
      acceptedAnswer: ref(`${page.url}#${id}-answer`),
    },
    { "@id": `${page.url}#${id}-answer`, "@type": "Answer", url: `${page.url}#${id}`, text },
  ]),
});

const data: Builder = (site, page) => {
  const { urls } = site.content;
  return {
    main: {
      "@id": `${page.url}#dataset`,
      "@type": "Dataset",
      name: "The site as a SQLite database",
      description: page.description,
      url: page.url,
      inLanguage: siteLanguage,
      isAccessibleForFree: true,
      creator: ref(`${urls.site}/#organization`),
      distribution: ref(`${page.url}#file`),
    },
    further: [
      {
        "@id": `${page.url}#file`,
        "@type": "DataDownload",
        name: "site.data",
        contentUrl: `${urls.site}/assets/site.data`,
        encodingFormat: "application/vnd.sqlite3",
      },
      techArticle(site, page, `${page.url}#dataset`),
    ],
  };
};

const none: Builder = () => ({ main: null, further: [] });

const builders: Readonly<Record<PageKind, Builder>> = {
  home,
  article,
  api,
  forms,
  envelope,
  responses,
  plans,
  vocabulary: article,
  areas,
  area,
  services,
  service,
  kits: codeKits,
  glossary,
  faq,
  data,
  unlisted: none,
};

/** Builds a page's main nodes with the builder for the page's kind. */
export function mainNodes(site: Site, page: SitePage): MainNodes {
  return builders[page.kind](site, page);
}
