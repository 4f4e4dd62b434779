/** Something that is due on a day. */
export interface DueEvent {
  /** What no other event of any calendar has. */
  readonly uid: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** When it was changed last, in epoch milliseconds. */
  readonly changed: number;
  readonly summary: string;
  readonly description: string;
  readonly url: string;
}

/** Bytes of a line at most, without its end (RFC 5545 §3.1). */
const LINE = 75;

/** Writes a calendar in iCalendar's format (RFC 5545). */
export function calendarOf(name: string, events: readonly DueEvent[]): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//pm-api//NONSGML pm-api//EN",
    "METHOD:PUBLISH",
    `X-WR-CALNAME:${text(name)}`,
    ...events.flatMap(({ uid, day, changed, summary, description, url }) => [
      "BEGIN:VEVENT",
      `UID:${text(uid)}`,
      `DTSTAMP:${new Date(changed).toISOString().replace(/[-:]|\.\d+/g, "")}`,
      `DTSTART;VALUE=DATE:${day.replaceAll("-", "")}`,
      `SUMMARY:${text(summary)}`,
      `DESCRIPTION:${text(description)}`,
      `URL;VALUE=URI:${url}`,
      "TRANSP:TRANSPARENT",
      "END:VEVENT",
    ]),
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join("");
}

/** A text as a value; control characters are none of it (RFC 5545 §3.3.11). */
const text = (value: string) =>
  value
    .replace(/[\\;,]/g, "\\$&")
    .replace(/\r\n?|\n/g, "\\n")
    .replace(/(?!\t)\p{Cc}/gu, "");

/** A line in parts of 75 bytes, none of which ends within a character. */
function folded(line: string): string {
  let written = "";
  let room = LINE;
  for (const character of line) {
    const bytes = Buffer.byteLength(character);
    if (bytes > room) {
      written += "\r\n ";
      // The space counts.
      room = LINE - 1;
    }
    written += character;
    room -= bytes;
  }
  return written;
}
