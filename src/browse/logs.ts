import type { RawReply } from "../core/resource.ts";

/** As much of the end of a log is on a page, in bytes. */
const MOST = 75_000;

/** The end of a text that may be long, in bytes, and whether that is all of it. */
async function endOf(body: RawReply["body"]): Promise<{ bytes: Buffer; isWhole: boolean }> {
  if (body === null) return { bytes: Buffer.alloc(0), isWhole: true };
  if (typeof body === "string" || body instanceof Uint8Array) {
    const bytes = Buffer.from(body);
    return { bytes: bytes.subarray(-MOST), isWhole: bytes.length <= MOST };
  }
  let kept: Buffer[] = [];
  let size = 0;
  let isWhole = true;
  for await (const piece of body.chunks()) {
    kept.push(Buffer.from(piece));
    size += piece.length;
    // Joined seldom, so that reading a long log takes a time linear in its length.
    if (size > 4 * MOST) {
      kept = [Buffer.concat(kept).subarray(-MOST)];
      size = MOST;
      isWhole = false;
    }
  }
  const bytes = Buffer.concat(kept);
  return { bytes: bytes.subarray(-MOST), isWhole: isWhole && bytes.length <= MOST };
}

const ESCAPE = String.fromCharCode(27);
/** What terminals take for colours and places, and what runners write where a section begins or ends. */
const SEQUENCES = new RegExp(`${ESCAPE}\\[[0-9;]*[A-Za-z]`, "g");
const SECTIONS = /section_(?:start|end):\d{1,20}:[^\r\n]{0,255}\r/g;

/** The end of a job's log, as text without colours. */
export async function readLog(
  body: RawReply["body"],
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { bytes, isWhole } = await endOf(body);
  const text = bytes.toString().replace(SECTIONS, "").replace(SEQUENCES, "");
  // What is cut off begins in the middle of a line.
  return { text: isWhole ? text : text.slice(text.indexOf("\n") + 1), isWhole };
}
