/**
 * The past as plots, and as a table for who does not see them.
 *
 * @module
 */

import type { TimeZone } from "../../contract/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import type { Pool } from "../../store/pool.ts";
import { readSteps, type Sample, type StepSpan } from "../../store/jobs/samples.ts";
import { table } from "./layout.ts";
import { linePlot, niceTop, type Series, stripPlot } from "./plot.ts";
import type { Range } from "./ranges.ts";
import { badge } from "./state.ts";
import { count, counted, moment, type PageClock, span } from "./text.ts";

/** The plots of a range that ends now. */
export async function history(
  pool: Pool,
  { range, clock }: { readonly range: Range; readonly clock: PageClock },
): Promise<Markup> {
  const { stepMs, spanMs } = range;
  // The step that has begun is the last one.
  const axis: StepSpan = {
    fromMs: (Math.floor(clock.nowMs / stepMs) + 1) * stepMs - spanMs,
    stepMs,
    steps: spanMs / stepMs,
  };
  const found = await readSteps(pool, axis);
  if (found.every((step) => step === null)) {
    return markup`<p class="quiet">There are no figures of this time yet: each process leaves its own once a minute.</p>`;
  }
  return markup`${flow(found, axis, range.stepText)}${oldest(found, axis)}${breaker(found, axis)}${
    figures(found, axis, clock.zone)
  }`;
}

function flow(found: readonly (Sample | null)[], axis: StepSpan, step: string): Markup {
  const names = ["accepted", "refused", "delivered"] as const;
  const series = names.map((name): Series => ({
    className: name,
    name,
    // The last step has only begun: what it has so far would look like a fall.
    values: found.map((step, index) => step === null || index === found.length - 1 ? null : step[name]),
  }));
  const totals = names.map((name) =>
    `${count(found.reduce((sum, step) => sum + (step?.[name] ?? 0), 0))} ${name}`
  );
  return linePlot(axis, series, {
    id: "flow",
    title: `Posts and deliveries in each ${step}`,
    description: `In all ${totals.join(", ")}.`,
    unit: (value) => count(Math.round(value * 10) / 10),
  });
}

function oldest(found: readonly (Sample | null)[], axis: StepSpan): Markup {
  const values = found.map((step) => step === null ? null : step.oldestPendingS);
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  return linePlot(axis, [{ className: "oldest", name: "oldest waiting", values }], {
    id: "oldest",
    title: "How long the oldest event has waited",
    description: `At most ${span(top)}.`,
    unit: span,
    top: topSpan,
  });
}

// Seconds that a clock's scale ends with.
const spans = [60, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000];

function topSpan(seconds: number): number {
  return spans.find((one) => one >= seconds) ?? niceTop(seconds);
}

function breaker(found: readonly (Sample | null)[], axis: StepSpan): Markup {
  const states = found.map((step) => step === null || step.breaker === "none" ? null : step.breaker);
  const open = states.filter((state) => state === "open").length;
  return stripPlot(axis, states, {
    id: "breaker",
    title: "Breaker before the actions tier",
    description: open === 0
      ? "It was never open."
      : `It was open in ${counted(open, "step")} of ${span(axis.stepMs / 1000)}.`,
    names: { closed: "closed", half_open: "half open", open: "open", unknown: "not known" },
  });
}

function figures(
  found: readonly (Sample | null)[],
  { fromMs, stepMs }: StepSpan,
  zone: TimeZone,
): Markup {
  const number = (name: string) => ({ name, isNumber: true });
  const steps = found.flatMap((step, index) => step === null ? [] : [{ step, atMs: fromMs + index * stepMs }])
    .reverse();
  return markup`<details><summary>The same figures as a table</summary>${
    table(
      ["From", ...["Accepted", "Refused", "Delivered", "Waiting", "Oldest", "Dead"].map(number), "Breaker"],
      steps.map(({ step, atMs }) => ({
        cells: [
          moment(atMs, zone),
          count(step.accepted),
          count(step.refused),
          count(step.delivered),
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
