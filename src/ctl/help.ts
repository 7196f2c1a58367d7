/**
 * The help of the operator's tool, made from the table of commands.
 *
 * @module
 */

import type { Command } from "./command.ts";

const everywhere = [
  ["--json", "print one JSON document"],
  ["--help", "show this help"],
] as const;

const outro = `Exit status: 0 done; 1 refused, not found, or the database is away; 2 wrong usage.
TIME is ISO 8601 (2026-09-30, 2026-09-30T12:00Z; UTC unless it says otherwise) or
a span from now: 30m, 2h, 7d, 2w.

The database is DATABASE_URL, or else that of the npm start running here.`;

/** One line: the command's words and what it takes. */
function usageLine(command: Command): string {
  const options = Object.entries(command.options).map(([name, rule]) => {
    const option = rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`;
    return rule.required === true ? option : `[${option}]${rule.several === true ? "…" : ""}`;
  });
  const positionals = command.positionals.map((name) =>
    name.endsWith("…") ? `${name.slice(0, -1)} [${name.slice(0, -1)}…]` : name
  );
  return ["ctl", command.words, ...positionals, ...options].join(" ");
}

/** What a wrong usage of the command prints. */
export function usage(command: Command): string {
  return `Usage: ${usageLine(command)} [--json]`;
}

/** `ctl key issue --help` */
export function commandHelp(command: Command): string {
  const options = [
    ...Object.entries(command.options).map(([name, rule]) =>
      [rule.value === undefined ? `--${name}` : `--${name} ${rule.value}`, rule.description] as const
    ),
    ...everywhere,
  ];
  const paragraphs = [
    usage(command),
    `${command.summary}.`,
    `Options:\n${columns(options)}`,
  ];
  if (command.notes !== undefined) paragraphs.push(command.notes);
  const takesTime = Object.values(command.options).some((rule) => rule.value === "TIME");
  if (takesTime) paragraphs.push(outro.split("\n").slice(1, 3).join("\n"));
  return paragraphs.join("\n\n");
}

/** `ctl --help`, and `ctl key --help` with the commands of one noun. */
export function overview(commands: readonly Command[], noun?: string): string {
  const shown = noun === undefined
    ? commands
    : commands.filter((command) => command.words.startsWith(`${noun} `));
  const lines = shown.map((command) => [`ctl ${command.words}`, command.summary] as const);
  return [
    `Usage: ctl ${noun ?? "NOUN"} VERB [ARGUMENTS] [OPTIONS] [--json]`,
    columns(lines),
    `ctl ${noun ?? "NOUN"} VERB --help tells what a command takes.`,
    outro,
  ].join("\n\n");
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
