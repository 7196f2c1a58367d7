/** Renders the playground's reference: the contract's tables, examples and kits. */

import { envelopeRows } from "../documents/brief.ts";
import { documents } from "../documents/published.ts";
import { type ErrorCode, errors } from "../contract/errors.ts";
import { type Example, failureExamples, flagExamples, leadExamples } from "../documents/examples.ts";
import { flagNames, flags } from "../contract/fields.ts";
import { definitionOfDone, limitRows, normalization, retryPolicy, rules } from "../documents/guidance.ts";
import { kits, kitsStatus, kitsSummary } from "../documents/kits.ts";
import { sentence } from "../documents/markdown.ts";
import { limits } from "../contract/limits.ts";
import { shellSnippets } from "../documents/snippets.ts";
import { type Markup, markup, type Value, withCode } from "../http/markup.ts";

/** Renders a table. On a narrow screen, each row becomes a list, labeled with the column headings. */
function table(caption: string, head: readonly string[], rows: readonly (readonly Value[])[]): Markup {
  const heads = head.map((name) => markup`<th scope="col">${name}</th>`);
  const bodies = rows.map(([first = "", ...rest]) => {
    const cells = rest.map((cell, at) => markup`<td data-label="${head[at + 1] ?? ""}">${cell}</td>`);
    return markup`<tr><th scope="row">${first}</th>${cells}</tr>`;
  });
  return markup`<table aria-label="${caption}">
<thead><tr>${heads}</tr></thead><tbody>${bodies}</tbody></table>`;
}

const list = (items: readonly string[]) => items.map((item) => markup`<li>${withCode(item)}</li>`);
const inlineCode = (name: string) => withCode(`\`${name}\``);

function guidance(baseUrl: string): Markup {
  const rows = limitRows.map((
    { limit, value, notes },
  ) => [withCode(limit), withCode(value), withCode(notes)]);
  return markup`<section id="rules"><h2>Eight rules</h2><ol>${list(rules)}</ol>
<h3>Post a lead</h3><p>Use a sandbox key until you go live:</p>
<pre class="code" tabindex="0"><code>${shellSnippets(baseUrl).postLead}</code></pre></section>
<section id="limits"><h2>Limits</h2>${table("Limits", ["Limit", "Value", "Notes"], rows)}</section>
<section id="done"><h2>Definition of done</h2><ul class="done">${list(definitionOfDone)}</ul></section>`;
}

function envelope(): Markup {
  const rows = envelopeRows.map((row) => row.map(withCode));
  return markup`<section id="envelope"><h2>The envelope</h2>
<p>The envelope is one JSON object in UTF-8, at most ${
    limits.bodyBytesMax / 1024
  } KiB. All fields are strings, except <code>cost</code>.</p>
${table("Fields", ["Field", "Required", "Limit", "Rules"], rows)}
<h3>Normalization</h3><ul>${list(normalization)}</ul></section>`;
}

function responses(): Markup {
  const store = withCode("Store the `event_id`.");
  const successes: Value[][] = [
    ["202", inlineCode("accepted"), "The lead and its delivery record are on disk.", store, "final"],
    [
      "200",
      inlineCode("duplicate"),
      withCode("This `Idempotency-Key` was accepted before."),
      "As for 202.",
      "final",
    ],
  ];
  const failures = (Object.keys(errors) as ErrorCode[]).map((code) => {
    const { status, condition, callerAction, retry } = errors[code];
    return [
      String(status),
      inlineCode(code),
      withCode(sentence(condition)),
      withCode(sentence(callerAction)),
      retry,
    ];
  });
  const flagRows = flagNames.map((flag) => [inlineCode(flag), withCode(flags[flag])]);
  return markup`<section id="responses"><h2>Responses</h2>
${table("Responses", ["Status", "Code", "Condition", "Action", "Retry"], [...successes, ...failures])}
<h3>Flags</h3><p>Flags are observations about an accepted lead, not errors: never retry because of one.</p>
${table("Flags", ["Flag", "Meaning"], flagRows)}
<h3>Retry policy</h3><ol>${list(retryPolicy)}</ol></section>`;
}

/** Summarizes the response to an example. */
function responseSummary({ response }: Example): string {
  if (response.status === 202) {
    return response.flags.length === 0 ? "202, no flags" : `202, \`${response.flags.join("`, `")}\``;
  }
  if (response.status !== 422) return response.status === 413 ? "413 `body_too_large`" : "400 `invalid_json`";
  const fields = Object.entries(response.fields).map(([name, reason]) => `\`${name}\` ${reason}`);
  return `422: ${fields.join(", ")}`;
}

// One example exceeds the body limit.
const shownLengthMax = 2_000;

function exampleDetails(name: string, shown: Example): Markup {
  const { title, about, body, idempotencyKey } = shown;
  const header = idempotencyKey === undefined
    ? null
    : markup`<p>Idempotency-Key: <code>${idempotencyKey}</code></p>`;
  const text = body.length > shownLengthMax
    ? null
    : markup`<pre class="code" tabindex="0"><code>${body}</code></pre>`;
  return markup`<details class="example" id="example-${name}">
<summary><span>${title}</span> <small>${withCode(responseSummary(shown))}</small></summary>
<p>${withCode(about)}</p>${header}${text}
<p class="scripted"><button type="button" data-example="${name}">Try it</button></p></details>
`;
}

/** The examples, grouped by their outcome. */
export const exampleGroups: readonly { title: string; examples: Readonly<Record<string, Example>> }[] = [
  { title: "Leads", examples: leadExamples },
  { title: "Flags", examples: flagExamples },
  { title: "Errors", examples: failureExamples },
];

function examplesSection(): Markup {
  const groups = exampleGroups.map((group) => {
    const all = Object.entries(group.examples).map(([name, example]) => exampleDetails(name, example));
    return markup`<h3>${group.title}</h3>${all}`;
  });
  return markup`<section id="examples"><h2>Examples</h2>
<p>The service's tests post each example.</p>${groups}</section>`;
}

/** Renders the kits as tabs that need no script: radio buttons, each followed by its panel. */
function kitTabs(baseUrl: string): Markup {
  const tabs = kits.map(({ name, from, platform, install, example }, at) =>
    markup`<input type="radio" name="kit" id="${name}"${
      at === 0 ? markup` checked` : null
    } autocomplete="off">
<label for="${name}">${from}</label>
<div class="tab"><p>${
      inlineCode(name)
    }: ${platform}.</p><pre class="code" tabindex="0"><code>${install}</code></pre>
<pre class="code" tabindex="0" role="group" aria-label="${name} example"><code>${example}</code></pre></div>
`
  );
  return markup`<section id="kits"><h2>Client kits</h2>
<p>${kitsSummary} ${kitsStatus} Every kit except the one for browsers can read its key from
<code>LEADS_API_KEY</code> and its base URL from <code>LEADS_BASE_URL</code> (<code>${baseUrl}</code>).</p>
<div class="tabs" role="group" aria-label="Kits">${tabs}</div></section>`;
}

export function reference(baseUrl: string): Markup {
  return markup`${guidance(baseUrl)}
${envelope()}
${responses()}
<section id="vocabulary"><h2>Vocabulary</h2>
<p>These are the terms of <code>project_area</code>, live from <a href="/v1/vocabulary"><code>/v1/vocabulary</code></a>.
You can also send your own: unknown terms are stored too.</p>
<p id="areas" class="terms"></p></section>
${examplesSection()}
${kitTabs(baseUrl)}
<p>See also the <a href="${documents.briefPage.path}">integration brief</a>, with client code in five languages, the
<a href="${documents.formsBriefPage.path}">forms brief</a>, and the
<a href="${documents.openapi.path}">OpenAPI document</a>.</p>`;
}
