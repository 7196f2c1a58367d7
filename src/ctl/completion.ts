/**
 * `ctl completion`
 *
 * @module
 */

import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Command, needsNoStore, type Reply, WrongUsage } from "./command.ts";

const program = fileURLToPath(new URL("../../scripts/ctl.ts", import.meta.url));

/** Text that a shell takes as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A branch of a `case` in the shell. */
function branch(pattern: string, work: string): string {
  return `    ${quoted(pattern)}) ${work} ;;`;
}

function print(words: readonly string[]): string {
  return words.length === 0 ? ":" : `printf '%s\\n' ${words.map(quoted).join(" ")}`;
}

/** What may stand for a value of this name: words that it lists (`intake|forms`), files, tenants, or nobody knows. */
function valuesOf(value: string, isTenant: boolean): string {
  if (isTenant) return "_ctl_tenants";
  if (/^(FILE|DIR)/.test(value)) return print(["@files"]);
  return print(value.split("|").filter((word) => /^[a-z][a-z0-9-]*$/.test(word)));
}

/** Whether an argument of this name is a tenant that there is. */
function isTenant(command: Command, argument: string): boolean {
  if (argument === "TENANT") return true;
  const takesOne = command.words.startsWith("tenant ") && command.words !== "tenant add";
  return argument === "SLUG" && (takesOne || command.words === "key issue");
}

/** The tables of commands, as functions of either shell that print words. */
function tables(commands: readonly Command[]): string {
  const words = Map.groupBy(commands, ({ words }) => words.split(" ")[0] as string);
  const verbs = [...words].flatMap(([noun, group]) => {
    const found = group.flatMap((command) => command.words.split(" ")[1] ?? []);
    return found.length === 0 ? [] : [branch(noun, print(found))];
  });
  const options = commands.map((command) =>
    branch(command.words, print([...Object.keys(command.options), "json", "help"].map((name) => `--${name}`)))
  );
  const values = commands.flatMap((command) =>
    Object.entries(command.options).flatMap(([name, { value }]) =>
      value === undefined
        ? []
        : [branch(`${command.words} --${name}`, valuesOf(value, name === "tenant" && value === "SLUG"))]
    )
  );
  const positionals = commands.flatMap((command) =>
    command.positionals.flatMap((name, index) => {
      const work = valuesOf(name, isTenant(command, name));
      return work === ":" ? [] : [branch(`${command.words} ${index}`, work)];
    })
  );
  return `_ctl_words() {
  case "$1" in
    '') ${print([...words.keys()])} ;;
${verbs.join("\n")}
    *) return 1 ;;
  esac
}

_ctl_options() {
  case "$1" in
${options.join("\n")}
  esac
}

# What the value of an option may be; it fails for an option without one.
_ctl_values() {
  case "$1" in
${values.join("\n")}
    *) return 1 ;;
  esac
}

_ctl_arguments() {
  case "$1" in
${positionals.join("\n")}
  esac
}

# Asked for when they are needed, for a second at most.
_ctl_tenants() {
  command -v timeout > /dev/null || return 0
  timeout 1 ${quoted(process.execPath)} ${quoted(program)} tenant list --json 2> /dev/null |
    sed -n 's/^ *"tenant": "\\(.*\\)",$/\\1/p'
}
`;
}

/** What may stand in the place of a word, given those before it; plain enough for either shell. */
const lookUp = `
# Prints what may stand in the place of the first argument; the others are the words between ctl and it.
_ctl_candidates() {
  local typed="$1" command='' noun='' option='' count=0 word
  shift
  for word in "$@"; do
    if [ -n "$option" ]; then option=''; continue; fi
    case "$word" in
      -*) if _ctl_values "$command $word" > /dev/null; then option="$word"; fi ;;
      *)
        if [ -n "$command" ]; then count=$((count + 1))
        elif [ -n "$noun" ]; then command="$noun $word"
        elif _ctl_words "$word" > /dev/null; then noun="$word"
        else command="$word"
        fi ;;
    esac
  done
  if [ -n "$option" ]; then _ctl_values "$command $option"
  elif [ -z "$command" ]; then _ctl_words "$noun"
  else
    case "$typed" in
      -*) _ctl_options "$command" ;;
      *) _ctl_arguments "$command $count" ;;
    esac
  fi
}
`;

/** A command of this name, when the machine has none. */
const define = `type ctl > /dev/null 2>&1 || ctl() { ${quoted(process.execPath)} ${quoted(program)} "$@"; }`;

const bash = `
_ctl() {
  local typed="\${COMP_WORDS[COMP_CWORD]}" line file
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      @files)
        compopt -o filenames 2> /dev/null
        while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$typed") ;;
      "$typed"*) COMPREPLY+=("$line") ;;
    esac
  done < <(_ctl_candidates "$typed" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")
}
complete -F _ctl ctl`;

const zsh = `
_ctl() {
  local line
  local -a found
  for line in "\${(@f)$(_ctl_candidates "$words[CURRENT]" "\${(@)words[2,CURRENT-1]}")}"; do
    if [[ "$line" == @files ]]; then _files
    elif [[ -n "$line" ]]; then found+=("$line")
    fi
  done
  compadd -a found
}
whence compdef > /dev/null || { autoload -Uz compinit && compinit }
compdef _ctl ctl`;

const shells: Readonly<Record<string, string>> = { bash, zsh };

/** The command, for a table of commands that it is part of. */
export function completionCommands(commands: () => readonly Command[]): readonly Command[] {
  return [{
    words: "completion",
    positionals: ["bash|zsh"],
    options: {},
    summary: "Print what lets a shell complete commands, options and tenants with the tab key",
    notes: `For this terminal:
  source <(npm run -s ctl -- completion bash)
For every one: put that line, with npm --prefix and the whole path of this folder, into ~/.bashrc or,
with zsh in place of bash, into ~/.zshrc. It defines a command ctl where there is none.`,
    prepare: needsNoStore,
    prepareAlone(input) {
      const shell = shells[input.first];
      if (shell === undefined) throw new WrongUsage(`SHELL must be bash or zsh: ${input.first}`);
      return (): Promise<Reply> => {
        const text = `${define}\n\n${tables(commands())}${lookUp}${shell}`;
        return Promise.resolve({ json: { script: text }, text });
      };
    },
  }];
}
