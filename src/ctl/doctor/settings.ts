/**
 * The settings of both processes, by their own readers.
 *
 * @module
 */

import { actionsVariables } from "#src/settings/actions_variables.ts";
import { variables } from "#src/settings/variables.ts";
import { type Check, type Examined, failure, type Finding, ok, type Situation, warning } from "./check.ts";

function findingsOf(
  situation: Situation,
  examined: Examined<unknown> | null,
  process: { readonly name: string; readonly file: string; readonly names: readonly string[] },
): Finding[] {
  if (examined === null) {
    return [
      warning(
        `none of ${process.name} is set in ${situation.source}`,
        `ctl doctor --settings ${process.file} (several files: one --settings each)`,
      ),
    ];
  }
  if (examined.faults.length > 0) {
    return examined.faults.map((fault) =>
      failure(fault, `mend it in ${situation.source}; docs/configuration.md`)
    );
  }
  const count = process.names.filter((name) => situation.environment[name]?.trim()).length;
  return [
    ok(
      `${count} set in ${situation.source}, the others at their defaults; ${process.name} can start with them`,
    ),
  ];
}

/** The checks. */
export const settingsChecks: readonly Check[] = [
  {
    name: "Settings, service",
    run: (situation) =>
      Promise.resolve(findingsOf(situation, situation.service, {
        name: "the service",
        file: "/etc/lead-intake/intake.env",
        names: Object.keys(variables),
      })),
  },
  {
    name: "Settings, actions",
    run: (situation) =>
      Promise.resolve(findingsOf(situation, situation.actions, {
        name: "the actions process",
        file: "/etc/lead-intake/actions.env",
        names: Object.keys(actionsVariables),
      })),
  },
];
