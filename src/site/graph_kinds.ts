/**
 * What each kind of page is about, as nodes of its graph.
 *
 * @module
 */

import { documents } from "../documents/published.ts";
import { type ErrorRule, errors, formErrors } from "../contract/errors.ts";
import { fieldNames, fields, flagNames, flags } from "../contract/fields.ts";
import { kits } from "../documents/kits.ts";
import type { Site, SitePage } from "./assemble.ts";
import {
  type Builder,
  type GraphNode,
  type MainNodes,
  plain,
  ref,
  siteLanguage,
  siteName,
} from "./graph_node.ts";
import { plans } from "./graph_plans.ts";
import { area, areas, glossary, sections, service, services, termSet } from "./graph_terms.ts";
import type { PageKind } from "./source.ts";

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
      ...termSet(page, "errors", codes, "The machine codes of the forms' error body."),
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

const answers: Builder = (site, page) => {
  const codes = errorTerms(errors);
  const observed = flagNames.map((code) => ({ code, description: flags[code] }));
  return {
    main: techArticle(site, page, apiId(site)),
    further: [
      ...termSet(page, "errors", codes, "The machine codes of the intake's error body."),
      ...termSet(page, "flags", observed, "Observations on an accepted lead."),
    ],
  };
};

/** The names of languages, by those that blocks of code have; the command line has none. */
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
      identifier: address,
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
  answers,
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
  error: none,
};

/** What a page is about. */
export function mainNodes(site: Site, page: SitePage): MainNodes {
  return builders[page.kind](site, page);
}
