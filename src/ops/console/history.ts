/**
 * The past as plots, and as a table for who does not see them.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { Pool } from "../../store/pool.ts";
import { readSteps, type Sample } from "../../store/jobs/samples.ts";
import { table } from "./layout.ts";
import { type Axis, linePlot, type Series, stripPlot } from "./plot.ts";
import type { Range } from "./ranges.ts";
import { spanScale } from "./scale.ts";
import { badge } from "./state.ts";
import { count, counted, moment, type PageClock, span } from "./text.ts";

/** The plots of a range that ends now. */
export async function history(
  pool: Pool,
  { range, clock }: { readonly range: Range; readonly clock: PageClock },
): Promise<Markup> {
  const { stepMs, spanMs } = range;
  // The step that has begun is the last one.
  const axis: Axis = {
    zone: clock.zone,
    fromMs: (Math.floor(clock.nowMs / stepMs) + 1) * stepMs - spanMs,
    stepMs,
    steps: spanMs / stepMs,
  };
  const found = await readSteps(pool, axis);
  if (found.every((step) => step === null)) {
    return markup`<p class="quiet">There are no figures of this time yet: each process leaves its own once a minute.</p>`;
  }
  return markup`${flow(found, axis, range.stepText)}${refusals(found, axis, range.stepText)}${
    deaths(found, axis, range.stepText)
  }${oldest(found, axis)}${breaker(found, axis)}${figures(found, axis)}`;
}

function flow(found: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const names = ["accepted", "refused", "delivered"] as const;
  const series = names.map((name): Series => ({
    className: name,
    name,
    values: countsOf(found, (step) => step[name]),
  }));
  const totals = names.map((name) =>
    `${count(found.reduce((sum, step) => sum + (step?.[name] ?? 0), 0))} ${name}`
  );
  return linePlot(axis, series, {
    id: "flow",
    title: `Posts and deliveries in each ${step}`,
    description: `In all ${totals.join(", ")}.`,
    unit: count,
  });
}

/** The last step has only begun: what it has so far would look like a fall. */
function countsOf(found: readonly (Sample | null)[], of: (step: Sample) => number): (number | null)[] {
  return found.map((step, index) => step === null || index === found.length - 1 ? null : of(step));
}

// Lines that can be told from each other; the rest is one.
const codesShown = 4;

function refusals(found: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const totals = new Map<string, number>();
  for (const one of found) {
    for (const [code, n] of Object.entries(one?.refusals ?? {})) {
      totals.set(code, (totals.get(code) ?? 0) + n);
    }
  }
  const codes = [...totals].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  if (codes.length === 0) {
    const all = found.reduce((sum, one) => sum + (one?.refused ?? 0), 0);
    return all === 0 ? markup`<p class="quiet">Nothing was refused in this time.</p>` : markup``;
  }
  const named = codes.length > codesShown + 1 ? codes.slice(0, codesShown) : codes;
  const others = codes.slice(named.length);
  const total = others.reduce((sum, [, n]) => sum + n, 0);
  const series = named.map(([code, n], index): Series => ({
    className: `code${index + 1}`,
    name: `${code} ${count(n)}`,
    values: countsOf(found, (one) => one.refusals[code] ?? 0),
  }));
  const rest: Series = {
    className: `code${codesShown + 1}`,
    name: `${counted(others.length, "other reason")} ${count(total)}`,
    values: countsOf(found, (one) => others.reduce((sum, [code]) => sum + (one.refusals[code] ?? 0), 0)),
  };
  return linePlot(axis, others.length === 0 ? series : [...series, rest], {
    id: "refusals",
    title: `Refused in each ${step}, by reason`,
    description: `In all ${codes.map(([code, n]) => `${count(n)} ${code}`).join(", ")}.`,
    unit: count,
  });
}

function deaths(found: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const total = found.reduce((sum, one) => sum + (one?.died ?? 0), 0);
  if (total === 0) return markup`<p class="quiet">No event was given up in this time.</p>`;
  return linePlot(axis, [{
    className: "died",
    name: "given up",
    values: countsOf(found, ({ died }) => died),
  }], {
    id: "deaths",
    title: `Given up in each ${step}: ${count(total)}`,
    description: `In all ${counted(total, "event")} became dead letters.`,
    unit: count,
  });
}

function oldest(found: readonly (Sample | null)[], axis: Axis): Markup {
  const values = found.map((step) => step === null ? null : step.oldestPendingS);
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  return linePlot(axis, [{ className: "oldest", name: "oldest waiting", values }], {
    id: "oldest",
    title: "How long the oldest event has waited",
    description: `At most ${span(top)}.`,
    unit: span,
    scale: spanScale,
  });
}

function breaker(found: readonly (Sample | null)[], axis: Axis): Markup {
  const states = found.map((step) => step === null || step.breaker === "none" ? null : step.breaker);
  const open = states.filter((state) => state === "open").length;
  return stripPlot(axis, states, {
    id: "breaker",
    title: "Breaker before the actions tier",
    description: open === 0
      // What was shorter lies between two samples.
      ? "It was open at no full minute."
      : `It was open in ${counted(open, "step")} of ${span(axis.stepMs / 1000)}.`,
    names: { closed: "closed", half_open: "half open", open: "open", unknown: "not known" },
  });
}

function figures(found: readonly (Sample | null)[], { fromMs, stepMs, zone }: Axis): Markup {
  const number = (name: string) => ({ name, isNumber: true });
  const steps = found.flatMap((step, index) => step === null ? [] : [{ step, atMs: fromMs + index * stepMs }])
    .reverse();
  return markup`<details><summary>The same figures as a table</summary>${
    table(
      [
        "From",
        ...["Accepted", "Refused", "Delivered", "Given up", "Waiting", "Oldest", "Dead"].map(number),
        "Breaker",
      ],
      steps.map(({ step, atMs }) => ({
        cells: [
          moment(atMs, zone),
          count(step.accepted),
          count(step.refused),
          count(step.delivered),
          count(step.died),
          count(step.pending),
          span(step.oldestPendingS),
          count(step.dead),
          step.breaker === "none" ? "–" : badge(step.breaker),
        ],
      })),
      { label: "Figures over time", empty: markup`` },
    )
  }</details>`;
}
