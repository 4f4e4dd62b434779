/** The bytes between two lines of ASCII armor (RFC 9580 §6, also as OpenSSH writes it); `undefined` if there are none. */
export function dearmored(text: string, label: string): Buffer | undefined {
  const [begin, end] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`];
  const lines = text.trim().split(/\r?\n/);
  if (lines[0]?.trimEnd() !== begin || lines.at(-1)?.trimEnd() !== end) return undefined;
  const inner = lines.slice(1, -1);
  // Headers, such as `Version`, end with an empty line.
  const blank = inner.findIndex((line) => line.trim() === "");
  const hasHeaders = blank > 0 && inner.slice(0, blank).every((line) => /^\w+: /.test(line));
  const body = hasHeaders || blank === 0 ? inner.slice(blank + 1) : inner;
  // The checksum is optional, and protects from nothing.
  if (/^=[A-Za-z0-9+/]{4}$/.test(body.at(-1)?.trim() ?? "")) body.pop();
  const encoded = body.map((line) => line.trim()).join("");
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, "base64") : undefined;
}
