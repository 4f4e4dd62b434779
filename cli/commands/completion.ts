import { Argument, type Command } from "commander";
import { completionOf, SHELLS } from "../completion.ts";

/** Adds `completion`. */
export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a completion script for a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
Examples:
  $ source <(pm-cli completion bash)
  $ pm-cli completion bash > ~/.local/share/bash-completion/completions/pm-cli
  $ pm-cli completion zsh > ~/.zsh/completions/_pm-cli
  $ pm-cli completion fish > ~/.config/fish/completions/pm-cli.fish`,
    )
    .action((shell: (typeof SHELLS)[number]) => {
      process.stdout.write(completionOf(program, shell));
    });
}
