/** The console's style sheet: light and dark, from a phone's width up. */

/** The CSS. Every text has a contrast of at least 4.5:1, which `test/ops/` measures in a browser. */
export const style = `
:root {
  --paper: #f6f6f4; --card: #fff; --ink: #1d2124; --soft: #555e65; --line: #d9dad6; --accent: #1f5673;
  --accent-ink: #fff; --good: #17683f; --good-paper: #e4f2ea; --warn: #7a4d00; --warn-paper: #fcf0d6;
  --bad: #a3261b; --bad-paper: #fbe8e5; --quiet-paper: #ecedea; --mark: #fff3c4;
  --accepted: #1f5673; --refused: #b3541e; --delivered: #17683f; --empty: #c9ccc8;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1b1f23; --ink: #e5e7e8; --soft: #a2abb2; --line: #343a40; --accent: #86c1e3;
    --accent-ink: #0c1a22; --good: #7fd3a3; --good-paper: #17301f; --warn: #ecc06a; --warn-paper: #352a12;
    --bad: #ff9d8f; --bad-paper: #45201b; --quiet-paper: #262b30; --mark: #4a3f14;
    --accepted: #86c1e3; --refused: #f0a36f; --delivered: #7fd3a3; --empty: #444b52;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; color: var(--ink);
  background: var(--paper); text-size-adjust: 100%; }
body { margin: 0; }
header, main, footer { max-width: 82rem; margin: 0 auto; padding: 0 clamp(.75rem, 2.5vw, 2rem); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1.5rem; padding-block: .75rem;
  border-bottom: 1px solid var(--line); }
header p { margin: 0; font-weight: 700; }
.find { flex: 1 1 8rem; max-width: 22rem; }
::placeholder { color: var(--soft); opacity: 1; }
nav summary { padding: .3rem .5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem .25rem; list-style: none; margin: 0 0 0 -.5rem; padding: 0; }
nav a { display: block; padding: .3rem .5rem; border-radius: .3rem; text-decoration: none; color: var(--ink); }
nav a:hover { background: var(--quiet-paper); }
nav a[aria-current] { background: var(--ink); color: var(--paper); }
main { padding-block: 1rem 3rem; overflow-wrap: anywhere; }
main:focus { outline: none; }
footer { color: var(--soft); font-size: .87rem; padding-block: .75rem 2rem; border-top: 1px solid var(--line); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .25rem 0 .75rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
p { margin: .4rem 0; max-width: 65rem; }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .15rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: .5rem; top: .5rem; background: var(--card); padding: .5rem 1rem; z-index: 1; }
code, pre, .id { font-family: var(--mono); font-size: .92em; }
td .id { white-space: nowrap; }
td .words { max-width: 20rem; overflow-wrap: break-word; }
time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.ago, .quiet { color: var(--soft); white-space: nowrap; }
.quiet { white-space: normal; }
.unseen { font: .75em var(--mono); background: var(--bad-paper); color: var(--bad); border-radius: .2rem;
  padding: 0 .2em; margin: 0 .1em; white-space: nowrap; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; background: var(--card);
  margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem; color: var(--soft); }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line); }
td { min-width: 6rem; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { white-space: nowrap; font-size: .87rem; color: var(--soft); font-weight: 600; }
td.number, td.act { min-width: 0; }
.number { text-align: right; white-space: nowrap; }
tr.stale td, tr.stale th { background: var(--warn-paper); }
tr.off td, tr.off th { color: var(--soft); }
tr.differs td { background: var(--mark); } tr.differs .quiet { color: var(--ink); }
.badge { display: inline-block; padding: 0 .5em; border-radius: 1em; font-size: .87rem; font-weight: 600;
  background: var(--quiet-paper); color: var(--ink); overflow-wrap: break-word; }
.badge.long { overflow-wrap: anywhere; }
.badge.good { background: var(--good-paper); color: var(--good); }
.badge.warn { background: var(--warn-paper); color: var(--warn); }
.badge.bad { background: var(--bad-paper); color: var(--bad); }
.status, .message { border-radius: .4rem; padding: .75rem 1rem; margin: .5rem 0 1rem; border-left: .4rem solid; }
.status h1 { margin: 0; }
.status ul { margin: .4rem 0 0; padding-left: 1.2rem; }
.status li { margin: .2rem 0; }
.good.status, .good.message { background: var(--good-paper); border-color: var(--good); }
.warn.status, .warn.message { background: var(--warn-paper); border-color: var(--warn); }
.bad.status, .bad.message { background: var(--bad-paper); border-color: var(--bad); }
.status a, .message a { color: inherit; }
.message form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.status.good h1 { color: var(--good); } .status.warn h1 { color: var(--warn); } .status.bad h1 { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .5rem; margin: 0; padding: 0; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem; }
.tiles dt { color: var(--soft); font-size: .87rem; }
.tiles dd { margin: 0; font-size: 1.35rem; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tiles small { display: block; font-size: .87rem; font-weight: 400; color: var(--soft); }
/* Pressing anywhere on a tile follows its link. */
.tiles > div { position: relative; } .tiles small a:only-child::after { content: ""; position: absolute; inset: 0; }
.tiles .bad { border-color: var(--bad); } .tiles .bad dd { color: var(--bad); }
.tiles .warn { border-color: var(--warn); } .tiles .warn dd { color: var(--warn); }
form.filters { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .6rem; align-items: end;
  background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; margin: .5rem 0 1rem; }
label { display: block; font-size: .87rem; color: var(--soft); }
input, select, button { font: inherit; color: var(--ink); max-width: 100%; }
input:not([type=checkbox]), select { width: 100%; padding: .35rem .5rem; background: var(--paper);
  border: 1px solid var(--soft); border-radius: .3rem; min-height: 2.3rem; }
input[type=checkbox] { width: 1.25rem; height: 1.25rem; margin: 0; vertical-align: middle; accent-color: var(--accent); }
button, .button { display: inline-block; padding: .3rem .8rem; border: 1px solid var(--accent); border-radius: .3rem;
  background: var(--card); color: var(--accent); font-weight: 600; text-decoration: none; cursor: pointer;
  white-space: nowrap; min-height: 2.2rem; }
button.main, .button.main { background: var(--accent); color: var(--accent-ink); }
button:hover, .button:hover { filter: brightness(.93); }
.row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0; }
.row form, td form { display: inline; margin: 0; }
td .row { flex-wrap: nowrap; margin: 0; }
.act { width: 1%; }
label.pick { display: inline-flex; align-items: center; min-width: 2rem; min-height: 2rem; }
ul.reasons { list-style: none; margin: .2rem 0 0; padding: 0; min-width: 16rem; }
ul.terms { columns: 12rem; margin: .25rem 0; padding-left: 1.2rem; }
.value { white-space: pre-wrap; min-width: 9rem; }
pre { margin: .5rem 0; padding: .6rem .75rem; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  max-height: 30rem; overflow: auto; white-space: pre-wrap; }
pre.request { max-height: none; }
dl.facts { display: grid; grid-template-columns: fit-content(16rem) 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; min-width: 0; white-space: pre-wrap; }
ol.timeline { list-style: none; margin: .5rem 0; padding: 0 0 0 1.1rem; border-left: 2px solid var(--line); }
ol.timeline li { position: relative; margin: 0 0 .7rem; }
ol.timeline li::before { content: ""; position: absolute; left: -1.52rem; top: .42rem; width: .75rem; height: .75rem;
  border-radius: 50%; background: var(--soft); border: 2px solid var(--paper); }
ol.timeline li.good::before { background: var(--good); } ol.timeline li.warn::before { background: var(--warn); }
ol.timeline li.bad::before { background: var(--bad); }
figure { margin: 1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; }
figcaption { font-weight: 600; display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
.key { font-weight: 400; color: var(--soft); white-space: nowrap; }
.key svg { width: 1.6rem; height: .7rem; margin-right: .3rem; }
.plot { display: grid; grid-template-columns: 3.2rem 1fr; gap: 0 .5rem; margin-top: .75rem; }
.plot > svg { display: block; width: 100%; overflow: visible; }
.plot.lines > svg { height: 9rem; }
.plot > svg.ticks { grid-column: 2; height: 1.5rem; }
.plot text { fill: var(--soft); color: var(--soft); font-size: .8rem; text-anchor: middle; font-variant-numeric: tabular-nums; }
.plot .scale text, .plot text.now { text-anchor: end; }
svg path, svg line { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2; }
svg .accepted { stroke: var(--accepted); } svg .refused { stroke: var(--refused); stroke-dasharray: 5 3; }
svg .delivered { stroke: var(--delivered); stroke-dasharray: 1.5 3; stroke-linecap: round; stroke-width: 2.5; }
svg .oldest { stroke: var(--accepted); } svg .died { stroke: var(--bad); }
svg .grid { stroke: var(--line); stroke-width: 1; }
summary { cursor: pointer; color: var(--accent); padding: .2rem 0; }
details.ask > summary { font-weight: 600; }
/* Above the padding of the link in the same cell. */
td > details { position: relative; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
.sides > * { min-width: 0; }
@media (min-width: 900px) { td .badge:not(.long) { white-space: nowrap; } }
/* On wide screens the menu is open, if the browser supports ::details-content. */
@media (min-width: 600px) {
  @supports selector(::details-content) {
    nav summary { display: none; }
    nav details::details-content { content-visibility: visible; }
  }
}
/* The padding keeps what has the focus from being under the bar. */
html:has(.bar) { scroll-padding-bottom: 5rem; }
.bar { position: sticky; bottom: 0; margin: 0; padding-block: .5rem; background: var(--paper); }
@media (max-height: 480px) { .bar { position: static; } }
.compact .value { min-width: 24rem; color: var(--soft); }
/* On narrow screens each row is a block of labels and values. */
@media screen and (max-width: 899.98px) {
  .scroll { position: relative; overflow: visible; border: 0; background: none; }
  table, tr, caption { display: block; }
  tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: .6rem; }
  caption { padding: .25rem 0; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .4rem .75rem; border: 1px solid var(--line); border-radius: .4rem;
    background: var(--card); }
  tr.stale { background: var(--warn-paper); } tr.differs { background: var(--mark); }
  td { display: flow-root; min-width: 0; border: 0; padding: .2rem 0 .2rem 7.5rem; }
  td::before { white-space: normal; content: attr(data-label); content: attr(data-label) / ""; float: left; width: 7rem; margin-left: -7.5rem;
    color: var(--soft); font-size: .87rem; }
  td a { display: inline-block; padding-block: .2rem; }
  ul.reasons, .value { min-width: 0; }
  .number { text-align: left; }
  td.act { width: auto; padding-left: 0; }
  td.act::before { content: none; }
  td.act .row { flex-wrap: wrap; } td.act button { flex: 1; min-width: 100%; }
  td.act .row { gap: .75rem; } td.act .row button { min-width: 6rem; }
  td:has(.pick)::before { line-height: 2rem; }
  .compact tr, .cards tr { position: relative; } .compact tr { padding-left: 3.5rem; }
  .compact td, .cards td { display: inline; padding: 0; }
  .compact td::before, .cards td::before { content: none; }
  .compact td::after, .cards td::after { content: " "; }
  /* Pressing anywhere on a card opens the lead. */
  .cards td:nth-child(-n+2) { display: block; } .cards td:nth-child(n+2) br { display: none; }
  .cards td .id { padding-block: 0; } .cards .id::after { content: ""; position: absolute; inset: 0; }
  .cards td a:not(.id) { position: relative; z-index: 1; }
  .compact td:first-child { position: absolute; left: .5rem; top: .4rem; } .compact td:nth-child(2) { display: block; }
  .compact br, .compact time, .compact td.act .row { display: none; }
  .compact .value { min-width: 0; font-size: .87rem; }
}
@media screen and (max-width: 599.98px) {
  /* Below 16px, phones zoom into a focused field. */
  html { font-size: 16px; }
  header { padding-block: .25rem; align-items: center; }
  header p { display: none; } nav { margin-left: auto; }
  nav { min-width: 0; } nav details[open] { width: 100%; } nav:has(details[open]) { width: 100%; }
  nav ul { display: grid; grid-template-columns: 1fr 1fr; margin: 0; padding-bottom: .5rem; }
  nav a, nav summary { display: flex; align-items: center; gap: .4rem; min-height: 44px; }
  summary { min-height: 44px; padding-block: .6rem; }
  button, .button, input:not([type=checkbox]), select, .row > a { min-height: 44px; }
  .button, .row > a { display: inline-flex; align-items: center; }
  input[type=checkbox] { width: 1.5rem; height: 1.5rem; }
  label.pick { min-width: 44px; min-height: 44px; } td:has(.pick)::before { line-height: 44px; }
  /* The negative margin keeps the text in line with its label. */
  td a { min-width: 44px; padding-block: .65rem; margin-block: -.5rem; }
  .compact td:nth-child(n+3) a, .cards td .id { padding-block: 0; margin-block: 0; }
  .bar { flex-wrap: nowrap; } .bar button { flex: 1; padding-inline: .3rem; }
  form.filters { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
  dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .4rem; }
  .plot .minor { display: none; } .plot { grid-template-columns: 2.6rem 1fr; }
  pre { max-height: 60vh; }
}
/* On paper, a page has only its content. A page without a size fits A4 and Letter. */
@page { margin: 15mm; }
@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --soft: #333; --line: #999; --accent: #000; }
  header, .skip, form.filters, button, .button, .pick, .screen, details.ask { display: none; }
  html { font-size: 10pt; } main, footer { max-width: none; padding-inline: 0; }
  .scroll { overflow: visible; border: 0; } tr { break-inside: avoid; } td { min-width: 0; }
}
`;
