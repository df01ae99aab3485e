"""`regard completion`: scripts that complete verbs, flags and values in bash, zsh and fish."""

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from regard.cli.args.path_args import PathArgument

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION_LENGTH = 70
"""Characters of a flag's help that zsh and fish show."""

EPILOG = """\
where it belongs
  bash  in ~/.bashrc: source <(regard completion bash)
  zsh   in ~/.zshrc, after compinit: source <(regard completion zsh)
  fish  in a file of its own, as in the example

examples
  regard completion bash
  regard completion fish > ~/.config/fish/completions/regard.fish
"""


def add_completion_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        description="Print a script that completes verbs, flags and values when you press Tab.",
        epilog=EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, help="your shell")
    parser.set_defaults(run=lambda options: sys.stdout.write(render_completion(options.shell, verbs)))


@dataclass(frozen=True)
class CompletedFlag:
    """A flag of a verb, and what may follow it."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]
    is_path: bool


@dataclass(frozen=True)
class CompletedVerb:
    """A verb with its flags and the choices of its positional arguments; without any, files are completed."""

    name: str
    help: str
    flags: tuple[CompletedFlag, ...]
    choices: tuple[str, ...]


def render_completion(shell: str, verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> str:
    """Return the completion script for a shell."""
    helps = {action.dest: action.help or "" for action in verbs._choices_actions}
    completed = [_describe_verb(name, helps[name], parser) for name, parser in verbs.choices.items()]
    match shell:
        case "bash":
            lines = _bash_lines(completed)
        case "zsh":
            lines = _zsh_lines(completed)
        case _:
            lines = _fish_lines(completed)
    return "".join(f"{line}\n" for line in lines)


def _describe_verb(name: str, help_text: str, parser: argparse.ArgumentParser) -> CompletedVerb:
    flags, choices = [], []
    for action in parser._actions:
        values = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            is_path = isinstance(action.type, PathArgument)
            names = tuple(action.option_strings)
            flags.append(CompletedFlag(names, _summary(action.help), action.nargs != 0, values, is_path))
        else:
            choices += values
    return CompletedVerb(name, _summary(help_text), tuple(flags), tuple(choices))


def _summary(help_text: str | None) -> str:
    """Return the first clause of a help text, without characters that a shell would interpret."""
    words = re.sub(r"[^\w .,/<>-]", " ", (help_text or "").split(";")[0].split(" (")[0])
    return " ".join(words.split())[:DESCRIPTION_LENGTH].strip()


def _bash_lines(verbs: list[CompletedVerb]) -> Iterator[str]:
    yield "_regard() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    names = " ".join(verb.name for verb in verbs)
    yield f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))'
    yield "    return"
    yield "  fi"
    yield '  case "${COMP_WORDS[1]} $before" in'
    for verb in verbs:
        for flag in verb.flags:
            if flag.choices:
                pattern = "|".join(f'"{verb.name} {name}"' for name in flag.names)
                yield f'    {pattern}) words="{" ".join(flag.choices)}" ;;'
            elif flag.takes_value:
                pattern = "|".join(f'"{verb.name} {name}"' for name in flag.names)
                yield f"    {pattern}) return ;;"  # a file name: the shell's own completion
    yield "    *)"
    yield '      case "$word ${COMP_WORDS[1]}" in'
    for verb in verbs:
        names = " ".join(name for flag in verb.flags for name in flag.names)
        yield f'        -*" {verb.name}") words="{names}" ;;'
        if verb.choices:
            yield f'        *" {verb.name}") words="{" ".join(verb.choices)}" ;;'
    yield "      esac ;;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _regard regard"


def _zsh_lines(verbs: list[CompletedVerb]) -> Iterator[str]:
    yield "#compdef regard"
    yield "_regard() {"
    yield "  local -a verbs"
    yield f"  verbs=({' '.join(shlex.quote(f'{verb.name}:{verb.help}') for verb in verbs)})"
    yield "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi"
    yield "  local verb=${words[2]}"
    yield "  shift words; (( CURRENT-- ))"
    yield "  case $verb in"
    for verb in verbs:
        specs = [_zsh_spec(name, flag) for flag in verb.flags for name in flag.names]
        positional = f"*:argument:({' '.join(verb.choices)})" if verb.choices else "*:file:_files"
        yield f"    {verb.name}) _arguments {' '.join(shlex.quote(spec) for spec in [*specs, positional])} ;;"
    yield "  esac"
    yield "}"
    yield "compdef _regard regard"


def _zsh_spec(name: str, flag: CompletedFlag) -> str:
    spec = f"*{name}[{flag.help}]"
    if flag.choices:
        return f"{spec}:value:({' '.join(flag.choices)})"
    return f"{spec}:value:{'_files' if flag.is_path else ' '}" if flag.takes_value else spec


def _fish_lines(verbs: list[CompletedVerb]) -> Iterator[str]:
    for verb in verbs:
        yield f"complete -c regard -n __fish_use_subcommand -f -a {verb.name} -d {shlex.quote(verb.help)}"
        condition = f"-n '__fish_seen_subcommand_from {verb.name}'"
        for flag in verb.flags:
            names = " ".join(
                f"-l {name.removeprefix('--')}" if name.startswith("--") else f"-s {name.removeprefix('-')}"
                for name in flag.names
            )
            if flag.choices:
                value = f" -x -a {shlex.quote(' '.join(flag.choices))}"
            else:
                value = (" -r" if flag.is_path else " -x") if flag.takes_value else ""
            yield f"complete -c regard {condition} {names}{value} -d {shlex.quote(flag.help)}"
        if verb.choices:
            yield f"complete -c regard {condition} -f -a {shlex.quote(' '.join(verb.choices))}"
