package cli

import (
	"fmt"
	"strings"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (in *invocation) completion() error {
	scripts := map[string]func() string{"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}
	script, ok := scripts[in.args[0]]
	if !ok {
		return usageError("It is leads completion " + strings.Join(shells, "|") + ".")
	}
	fmt.Fprint(in.stdout, script())
	return nil
}

// names gives the commands' names.
func names() []string {
	var list []string
	for _, command := range commands() {
		list = append(list, command.name)
	}
	return list
}

// firstWords are what the first argument of a command may be.
func (c *command) firstWords() []string {
	if c.name == "help" {
		return names()
	}
	return c.words
}

func (c *command) optionNames() []string {
	var list []string
	for _, option := range c.options {
		list = append(list, "--"+option.name)
	}
	return list
}

// fileOptions and valueOptions give the options, of whatever command, that take a file
// and that take another value.
func optionsWithValue() (files, others []string) {
	seen := map[string]bool{}
	for _, command := range commands() {
		for _, option := range command.options {
			if option.value == "" || seen[option.name] {
				continue
			}
			seen[option.name] = true
			if option.file {
				files = append(files, "--"+option.name)
			} else {
				others = append(others, "--"+option.name)
			}
		}
	}
	return files, others
}

func bash() string {
	var text strings.Builder
	files, others := optionsWithValue()
	text.WriteString("# Completion of leads for bash: source <(leads completion bash)\n")
	text.WriteString("_leads() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n  COMPREPLY=()\n")
	text.WriteString("  if ((COMP_CWORD == 1)); then\n")
	fmt.Fprintf(&text, "    COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n    return\n  fi\n", strings.Join(names(), " "))
	fmt.Fprintf(&text, "  case $before in\n  %s)\n    compopt -o filenames 2>/dev/null\n    COMPREPLY=($(compgen -f -- \"$word\"))\n    return\n    ;;\n", strings.Join(files, "|"))
	fmt.Fprintf(&text, "  %s)\n    return\n    ;;\n  esac\n", strings.Join(others, "|"))
	text.WriteString("  case ${COMP_WORDS[1]} in\n")
	for _, command := range commands() {
		fmt.Fprintf(&text, "  %s)\n    if [[ $word == -* ]]; then\n      COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n", command.name, strings.Join(command.optionNames(), " "))
		switch words := command.firstWords(); {
		case command.files:
			text.WriteString("    else\n      compopt -o filenames 2>/dev/null\n      COMPREPLY=($(compgen -f -- \"$word\"))\n")
		case len(words) > 0:
			fmt.Fprintf(&text, "    else\n      COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n", strings.Join(words, " "))
		}
		text.WriteString("    fi\n    ;;\n")
	}
	text.WriteString("  esac\n}\ncomplete -F _leads leads\n")
	return text.String()
}

func zsh() string {
	var text strings.Builder
	text.WriteString("#compdef leads\n# Completion of leads for zsh: source <(leads completion zsh)\n_leads() {\n")
	text.WriteString("  if ((CURRENT == 2)); then\n    local -a commands=(\n")
	for _, command := range commands() {
		fmt.Fprintf(&text, "      %s\n", single(command.name+":"+command.about))
	}
	text.WriteString("    )\n    _describe command commands\n    return\n  fi\n  local name=$words[2]\n  shift words\n  ((CURRENT--))\n  case $name in\n")
	for _, command := range commands() {
		fmt.Fprintf(&text, "  %s)\n    _arguments -s", command.name)
		for _, option := range command.options {
			about := strings.NewReplacer("[", "(", "]", ")", ":", ",").Replace(option.about)
			action := ""
			if option.value != "" {
				action = ":" + option.value + ":"
			}
			if option.file {
				action += "_files"
			}
			repeat := ""
			if option.name == "field" || option.name == "map" {
				repeat = "*"
			}
			fmt.Fprintf(&text, " \\\n      %s", single(repeat+"--"+option.name+"["+about+"]"+action))
		}
		switch words := command.firstWords(); {
		case command.files:
			text.WriteString(" \\\n      '1:file:_files'")
		case len(words) > 0:
			fmt.Fprintf(&text, " \\\n      %s", single("1:word:("+strings.Join(words, " ")+")"))
		}
		text.WriteString("\n    ;;\n")
	}
	text.WriteString("  esac\n}\nif [[ $funcstack[1] == _leads ]]; then\n  _leads \"$@\"\nelse\n  compdef _leads leads\nfi\n")
	return text.String()
}

func fish() string {
	var text strings.Builder
	text.WriteString("# Completion of leads for fish: leads completion fish | source\ncomplete -c leads -f\n")
	for _, command := range commands() {
		fmt.Fprintf(&text, "complete -c leads -n __fish_use_subcommand -a %s -d %s\n", command.name, single(command.about))
		within := "'__fish_seen_subcommand_from " + command.name + "'"
		for _, option := range command.options {
			takes := ""
			switch {
			case option.file:
				takes = " -r -F"
			case option.value != "":
				takes = " -x"
			}
			fmt.Fprintf(&text, "complete -c leads -n %s -l %s%s -d %s\n", within, option.name, takes, single(option.about))
		}
		switch words := command.firstWords(); {
		case command.files:
			fmt.Fprintf(&text, "complete -c leads -n %s -F\n", within)
		case len(words) > 0:
			fmt.Fprintf(&text, "complete -c leads -n %s -a %s\n", within, single(strings.Join(words, " ")))
		}
	}
	return text.String()
}

func powershell() string {
	var text strings.Builder
	text.WriteString("# Completion of leads for PowerShell: leads completion powershell | Out-String | Invoke-Expression\n")
	text.WriteString("Register-ArgumentCompleter -Native -CommandName leads -ScriptBlock {\n  param($word, $line, $cursor)\n  $words = @{\n")
	for _, command := range commands() {
		list := append(command.optionNames(), command.firstWords()...)
		fmt.Fprintf(&text, "    '%s' = '%s'\n", command.name, strings.Join(list, " "))
	}
	fmt.Fprintf(&text, "  }\n  $said = @($line.CommandElements | ForEach-Object { \"$_\" })\n")
	fmt.Fprintf(&text, "  if ($said.Count -lt 2 -or ($said.Count -eq 2 -and $word -ne '')) {\n    $list = '%s'\n  } else {\n    $list = $words[$said[1]]\n  }\n", strings.Join(names(), " "))
	text.WriteString("  \"$list\".Split(' ') | Where-Object { $_ -and $_.StartsWith($word) } | ForEach-Object {\n    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)\n  }\n}\n")
	return text.String()
}

// single puts text into single quotes, as shells with backslashes outside of them read it.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
