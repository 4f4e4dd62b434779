import { EVENTS, NOTIFICATIONS, PIPELINES } from "../../src/notifications/mail-reasons.ts";

/** The rows of the table in notifications.md that says what people get mail about. */
export function occasions(): string {
  const flags = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(" or ");
  const rows = [
    ...[...Object.values(EVENTS), ...Object.values(NOTIFICATIONS)].map(
      ({ when, flag }) => `| ${when} | ${flag ? flags([flag]) : ""} |`,
    ),
    ...Object.values(PIPELINES).map(({ when, flags: names }) => `| ${when} | ${flags(names)} |`),
  ];
  return `${rows.join("\n")}\n`;
}
