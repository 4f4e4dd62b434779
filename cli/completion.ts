import type { Argument, Command, Option } from "commander";

/** The supported shells. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** What can follow a command on the command line. */
interface Place {
  words: string[];
  /** Subcommands and options. */
  offered: { name: string; about: string }[];
  /** Options with a value, and its choices; without choices, file names are completed. */
  values: { flags: string[]; choices: readonly string[] }[];
  /** The choices of its first argument. */
  choices: readonly string[];
}

/** A shell script that completes a program's commands, options and their values. */
export function completionOf(program: Command, shell: (typeof SHELLS)[number]): string {
  const places = placesOf(program, []);
  const name = program.name();
  switch (shell) {
    case "bash":
      return bash(name, places);
    case "zsh":
      // zsh can run bash's script: https://zsh.sourceforge.io/Doc/Release/Completion-System.html
      return `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${bash(name, places)}`;
    case "fish":
      return fish(name, places);
  }
}

function placesOf(command: Command, words: string[]): Place[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  const here: Place = {
    words,
    offered: [
      ...command.commands.map((one) => ({ name: one.name(), about: one.description() })),
      ...options.map((one) => ({ name: one.long as string, about: one.description })),
      { name: "--help", about: "display help for command" },
    ],
    values: options
      .filter((one) => one.required || one.optional)
      .map((one) => ({ flags: flagsOf(one), choices: one.argChoices ?? [] })),
    choices: (command.registeredArguments[0] as Argument | undefined)?.argChoices ?? [],
  };
  return [here, ...command.commands.flatMap((one) => placesOf(one, [...words, one.name()]))];
}

const flagsOf = ({ short, long }: Option) =>
  [short, long].filter((flag): flag is string => flag !== undefined && flag !== null);

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function bash(name: string, places: readonly Place[]): string {
  const own = `_${name.replace(/\W/g, "_")}`;
  const paths = places.map(({ words }) => words.join(" ")).filter((path) => path !== "");
  const cases = places.map(({ words, offered, values, choices }) => {
    const path = words.join(" ");
    const listed = values.filter((one) => one.choices.length > 0);
    return `    ${quoted(path)})
      case "$previous" in
${listed.map((one) => `        ${one.flags.join("|")}) words=${quoted(one.choices.join(" "))} ;;\n`).join("")}${values
  .filter((one) => one.choices.length === 0)
  .map((one) => `        ${one.flags.join("|")}) files=1 ;;\n`)
  .join("")}        *) words=${quoted([...offered.map((one) => one.name), ...choices].join(" "))} ;;
      esac
      ;;`;
  });
  return `# ${name}'s completion: source <(${name} completion bash)
${own}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path="" word words="" files=""
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${paths.map(quoted).join("|")}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  if [ -z "$files" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
  # Also if no word fits, such as after an option that takes a file name.
  if [ "\${#COMPREPLY[@]}" -eq 0 ] && [ "\${current#-}" = "$current" ]; then
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F ${own} ${name}
`;
}

function fish(name: string, places: readonly Place[]): string {
  const own = `__${name.replace(/\W/g, "_")}_at`;
  const paths = places.map(({ words }) => words.join(" ")).filter((path) => path !== "");
  const lines = places.flatMap(({ words, offered, values, choices }) => {
    const at = `complete -c ${name} -n ${quoted(`${own} ${quoted(words.join(" "))}`)}`;
    const arguments_ = new Map(values.flatMap((one) => one.flags.map((flag) => [flag, one])));
    return [
      ...offered.map((one) => {
        const about = `-d ${quoted(one.about)}`;
        if (!one.name.startsWith("-")) return `${at} -f -a ${one.name} ${about}`;
        const value = arguments_.get(one.name);
        const taken = !value
          ? ""
          : value.choices.length > 0
            ? ` -x -a ${quoted(value.choices.join(" "))}`
            : " -r";
        return `${at} -l ${one.name.slice(2)}${taken} ${about}`;
      }),
      ...(choices.length > 0 ? [`${at} -f -a ${quoted(choices.join(" "))}`] : []),
    ];
  });
  return `# ${name}'s completion: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function ${own}
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$path $word")
    if contains -- "$longer" ${paths.map(quoted).join(" ")}
      set path "$longer"
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}
