/**
 * Pages that define terms, as nodes of the graph: the vocabulary, the glossary, and tables of codes.
 *
 * @module
 */

import type { Site, SitePage } from "./assemble.ts";
import type { AreaPage } from "./content.ts";
import { type Builder, fragment, type GraphNode, plain, ref, termId } from "./graph_node.ts";
import { render } from "../http/markdown.ts";

/** A set of terms that one page defines in full. */
export function termSet(
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

/** A set whose terms have pages of their own. */
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

/** The page that lists the areas. */
export const areas: Builder = (site, page) => ({
  main: setOfPages(page, "project_area", site.areas.map(({ path }) => ({ url: urlOf(site, path) }))),
  further: [],
});

/** The page that lists the services. */
export const services: Builder = (site, page) => ({
  main: setOfPages(page, "project_service", site.pages.filter(({ kind }) => kind === "service")),
  further: [],
});

const urlOf = (site: Site, path: string) => site.content.urls.site + path;

/** The page of one area. */
export const area: Builder = (site, page) => {
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
      inDefinedTermSet: ref(urlOf(site, "/areas/#set")),
      mainEntityOfPage: ref(`${page.url}#webpage`),
    },
    further: [],
  };
};

/** The page of one service. */
export const service: Builder = (site, page) => ({
  main: {
    "@id": termId(page),
    "@type": "DefinedTerm",
    name: page.service ?? page.title,
    alternateName: page.synonyms.length === 0 ? undefined : [...page.synonyms],
    description: page.description,
    termCode: page.service ?? undefined,
    url: page.url,
    inDefinedTermSet: ref(urlOf(site, "/services/#set")),
    mainEntityOfPage: ref(`${page.url}#webpage`),
  },
  further: [],
});

/** A page's sections under headings of the second level, as text. */
export function sections(
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

/** The glossary: each section defines a term. */
export const glossary: Builder = (_, page) => {
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
