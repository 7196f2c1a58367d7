/**
 * The past as plots, and as a table for who does not see them.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { Pool } from "../../store/sql.ts";
import { table } from "./layout.ts";
import { type Axis, linePlot, type Series, stripPlot } from "./plot.ts";
import { foldSteps, type MinuteFigures, type Range, type Step } from "./samples.ts";
import { badge } from "./state.ts";
import { count, counted, span } from "./text.ts";

/** The plots of a range that ends now. */
export async function history(
  pool: Pool,
  { range, nowMs }: { readonly range: Range; readonly nowMs: number },
): Promise<Markup> {
  const { stepMs, spanMs } = range;
  // The step that has begun is the last one.
  const steps = spanMs / stepMs;
  const fromMs = (Math.floor(nowMs / stepMs) + 1) * stepMs - spanMs;
  const minutes = await readMinutes(pool, fromMs);
  const axis: Axis = { fromMs, stepMs, steps };
  const found = foldSteps(minutes, { fromMs, stepMs, steps });
  if (found.every((step) => step === null)) {
    return markup`<p class="quiet">There are no figures of this time yet: each process writes its own once a minute.</p>`;
  }
  return markup`${flow(found, axis)}${oldest(found, axis)}${breaker(found, axis)}${figures(found)}`;
}

function readMinutes(_pool: Pool, _fromMs: number): Promise<MinuteFigures[]> {
  return Promise.resolve([]);
}

function flow(found: readonly (Step | null)[], axis: Axis): Markup {
  const names = ["accepted", "refused", "delivered"] as const;
  const series = names.map((name): Series => ({
    className: name,
    name,
    values: found.map((step) => step === null ? null : step[name]),
  }));
  const totals = names.map((name) =>
    `${count(found.reduce((sum, step) => sum + (step?.[name] ?? 0), 0))} ${name}`
  );
  return linePlot(axis, series, {
    id: "flow",
    title: `Posts and deliveries in ${span(axis.stepMs / 1000)}`,
    description: `In all ${totals.join(", ")}.`,
    unit: (value) => count(Math.round(value * 10) / 10),
  });
}

function oldest(found: readonly (Step | null)[], axis: Axis): Markup {
  const values = found.map((step) => step === null ? null : step.oldestPendingSeconds ?? 0);
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  return linePlot(axis, [{ className: "oldest", name: "oldest waiting", values }], {
    id: "oldest",
    title: "How long the oldest event has waited",
    description: `At most ${span(top)}.`,
    unit: span,
  });
}

function breaker(found: readonly (Step | null)[], axis: Axis): Markup {
  const states = found.map((step) => step?.breaker ?? null);
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

function figures(found: readonly (Step | null)[]): Markup {
  const number = (name: string) => ({ name, isNumber: true });
  const steps = found.filter((step) => step !== null).reverse();
  return markup`<details><summary>The same figures as a table</summary>${
    table(
      ["From", ...["Accepted", "Refused", "Delivered", "Waiting", "Oldest", "Dead"].map(number), "Breaker"],
      steps.map((step) => ({
        cells: [
          new Date(step.atMs).toISOString().slice(0, 16).replace("T", " "),
          count(step.accepted),
          count(step.refused),
          count(step.delivered),
          count(step.pending),
          step.oldestPendingSeconds === null ? "–" : span(step.oldestPendingSeconds),
          count(step.dead),
          step.breaker === null ? "–" : badge(step.breaker),
        ],
      })),
      { label: "Figures over time", empty: markup`` },
    )
  }</details>`;
}
