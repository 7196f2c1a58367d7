/** The page's reference: the contract's tables as markup, for readers with and without JavaScript. */

import { envelopeRows } from "../documents/brief.ts";
import { documents } from "../documents/published.ts";
import { type ErrorCode, errors } from "../contract/errors.ts";
import { type Example, failureExamples, flagExamples, leadExamples } from "../documents/examples.ts";
import { flagNames, flags } from "../contract/fields.ts";
import { definitionOfDone, limitRows, normalization, retryPolicy, rules } from "../documents/guidance.ts";
import { kits, kitsStatus, kitsSummary, kitsVersion } from "../documents/kits.ts";
import { limits } from "../contract/limits.ts";
import { shellSnippets } from "../documents/snippets.ts";
import { type Markup, markup, rich, type Value } from "../http/markup.ts";

/** A table; on a narrow screen each row becomes a list of its own, with the heads as labels. */
function table(caption: string, head: readonly string[], rows: readonly (readonly Value[])[]): Markup {
  const heads = head.map((name) => markup`<th scope="col">${name}</th>`);
  const bodies = rows.map(([first = "", ...rest]) => {
    const cells = rest.map((cell, at) => markup`<td data-label="${head[at + 1] ?? ""}">${cell}</td>`);
    return markup`<tr><th scope="row">${first}</th>${cells}</tr>`;
  });
  return markup`<table aria-label="${caption}">
<thead><tr>${heads}</tr></thead><tbody>${bodies}</tbody></table>`;
}

const list = (items: readonly string[]) => items.map((item) => markup`<li>${rich(item)}</li>`);
const named = (name: string) => rich(`\`${name}\``);
const sentence = (text: string) => rich(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);

function guidance(baseUrl: string): Markup {
  const rows = limitRows.map(({ limit, value, appliesTo }) => [rich(limit), rich(value), rich(appliesTo)]);
  return markup`<section id="rules"><h2>Eight rules</h2><ol>${list(rules)}</ol>
<h3>Post a lead</h3><p>With a sandbox key, until you go live:</p>
<pre class="code" tabindex="0"><code>${shellSnippets(baseUrl).postLead}</code></pre></section>
<section id="limits"><h2>Limits</h2>${table("Limits", ["Limit", "Value", "About"], rows)}</section>
<section id="done"><h2>Definition of done</h2><ul class="done">${list(definitionOfDone)}</ul></section>`;
}

function envelope(): Markup {
  const rows = envelopeRows.map((row) => row.map(rich));
  return markup`<section id="envelope"><h2>The envelope</h2>
<p>One JSON object, UTF-8, at most ${
    limits.bodyBytesMax / 1024
  } KiB. Text everywhere, except <code>cost</code>.</p>
${table("Fields", ["Field", "Required", "Cap", "Rules"], rows)}
<h3>Before it is stored</h3><ul>${list(normalization)}</ul></section>`;
}

function answers(): Markup {
  const keep = rich("Keep the `event_id`.");
  const successes: Value[][] = [
    ["202", named("accepted"), "The lead and its delivery record are on disk.", keep, "final"],
    ["200", named("duplicate"), rich("This `Idempotency-Key` was accepted before."), "As for 202.", "final"],
  ];
  const failures = (Object.keys(errors) as ErrorCode[]).map((code) => {
    const { status, condition, callerAction, retry } = errors[code];
    return [String(status), named(code), sentence(condition), sentence(callerAction), retry];
  });
  const flagRows = flagNames.map((flag) => [named(flag), rich(flags[flag])]);
  return markup`<section id="answers"><h2>Answers</h2>
${table("Answers", ["Status", "Code", "When", "Do", "Retry"], [...successes, ...failures])}
<h3>Flags</h3><p>Observations on an accepted lead. Never errors; never retry because of one.</p>
${table("Flags", ["Flag", "Means"], flagRows)}
<h3>Retry policy</h3><ol>${list(retryPolicy)}</ol></section>`;
}

/** What an example is answered with, in a few words. */
function outcome({ answer }: Example): string {
  if (answer.status === 202) {
    return answer.flags.length === 0 ? "202, no flag" : `202, \`${answer.flags.join("`, `")}\``;
  }
  if (answer.status !== 422) return answer.status === 413 ? "413 `body_too_large`" : "400 `invalid_json`";
  const fields = Object.entries(answer.fields).map(([name, reason]) => `\`${name}\` ${reason}`);
  return `422: ${fields.join(", ")}`;
}

// One of them is made to be too long for any page.
const shownLengthMax = 2_000;

function example(name: string, shown: Example): Markup {
  const { title, about, body, idempotencyKey } = shown;
  const header = idempotencyKey === undefined
    ? null
    : markup`<p>Idempotency-Key: <code>${idempotencyKey}</code></p>`;
  const text = body.length > shownLengthMax
    ? null
    : markup`<pre class="code" tabindex="0"><code>${body}</code></pre>`;
  return markup`<details class="example" id="example-${name}">
<summary><span>${title}</span> <small>${rich(outcome(shown))}</small></summary>
<p>${rich(about)}</p>${header}${text}
<p class="scripted"><button type="button" data-example="${name}">Try it</button></p></details>
`;
}

/** The groups in which the examples are listed and can be chosen. */
export const exampleGroups: readonly { title: string; examples: Readonly<Record<string, Example>> }[] = [
  { title: "Leads", examples: leadExamples },
  { title: "Flags", examples: flagExamples },
  { title: "Refusals", examples: failureExamples },
];

function examples(): Markup {
  const groups = exampleGroups.map((group) => {
    const all = Object.entries(group.examples).map(([name, one]) => example(name, one));
    return markup`<h3>${group.title}</h3>${all}`;
  });
  return markup`<section id="examples"><h2>Examples</h2>
<p>Every one of them is posted to the service by its tests.</p>${groups}</section>`;
}

/** The kits as tabs that need no script: radio buttons, each with its panel behind it. */
function kitTabs(baseUrl: string): Markup {
  const tabs = kits.map(({ name, from, platform, install, example }, at) =>
    markup`<input type="radio" name="kit" id="${name}"${
      at === 0 ? markup` checked` : null
    } autocomplete="off">
<label for="${name}">${from}</label>
<div class="tab"><p>${
      named(name)
    }: ${platform}.</p><pre class="code" tabindex="0"><code>${install}</code></pre>
<pre class="code" tabindex="0" role="group" aria-label="${name}, an example"><code>${example}</code></pre></div>
`
  );
  return markup`<section id="kits"><h2>Client kits</h2>
<p>${kitsSummary} Version ${kitsVersion}, ${kitsStatus}. Key and address are read from
<code>LEADS_API_KEY</code> and <code>LEADS_BASE_URL</code>, which is <code>${baseUrl}</code>.</p>
<div class="tabs" role="group" aria-label="Kits">${tabs}</div></section>`;
}

/** All of it. */
export function reference(baseUrl: string): Markup {
  return markup`${guidance(baseUrl)}
${envelope()}
${answers()}
<section id="vocabulary"><h2>Vocabulary</h2>
<p>The terms of <code>project_area</code>, live from <a href="/v1/vocabulary"><code>/v1/vocabulary</code></a>. An
unknown term is stored too: send your own.</p>
<p id="areas" class="terms"></p></section>
${examples()}
${kitTabs(baseUrl)}
<p class="more">More: the <a href="${documents.briefPage.path}">integration brief</a> with a client to copy in five
languages, <a href="${documents.formsBriefPage.path}">that of the tenant forms</a>, and the
<a href="${documents.openapi.path}">OpenAPI document</a>.</p>`;
}
