import { readFileSync } from "node:fs";
import {
  INTEGRATIONS,
  type Integration,
  type Property,
  type SenderName,
} from "../../src/hooks/integrations/catalogue.ts";

const SENDS: Partial<Record<SenderName, string>> = {
  jenkins: "payloads",
  drone: "payloads",
  buildkite: "payloads",
  datadog: "payloads",
  packagist: "payloads",
  pipelineMail: "mails",
  pushMail: "mails",
};

function settingOf([name, { required, secret, kept }]: readonly [string, Property]): string {
  const shown = `\`${name}\`${required ? "*" : ""}`;
  return `${secret ? `(${shown})` : shown}${kept ? " without an effect" : ""}`;
}

const sentBy = ({ sender }: Integration) => (sender ? (SENDS[sender] ?? "messages") : "");

/** integrations.md as it is, with the table of integrations as it has to be. */
export function integrations(): string {
  const rows = Object.entries(INTEGRATIONS)
    .filter(([, { unavailable }]) => !unavailable)
    .map(([slug, integration]) => {
      const { title, properties, events, sender, keptEvents = [] } = integration;
      const settings = Object.entries(properties).map(settingOf).join(", ");
      const kept = sender ? keptEvents : [...events, ...keptEvents];
      const told = [
        ...(sender ? events : []).map((name) => `\`${name}\``),
        ...kept.map((name) => `\`${name}\` without an effect`),
      ].join(", ");
      return `| \`${slug}\` | ${title} | ${sentBy(integration)} | ${settings} | ${told} |`;
    });
  const text = readFileSync(new URL("../integrations.md", import.meta.url), "utf8");
  const [all, head] = /(\| slug .*\n\|[-|]+\n)(?:\|.*\n)*/.exec(text) ?? [];
  if (all === undefined) throw new Error("docs/integrations.md has no table of integrations");
  return text.replace(all, () => `${head}${rows.join("\n")}\n`);
}
