// Sends 20 MB to a URL several times and prints each outcome, with the milliseconds it took. It runs in its own process: in the server's process a
// client never sees the connection close while it is still writing.
import { request } from "node:http";

const [url, token, client, length] = process.argv.slice(2);
const body = Buffer.alloc(20_000_000, "x");
const headers = {
  "content-type": "application/json",
  "private-token": token,
  ...(length === "declared" && { "content-length": String(body.length) }),
};

async function* chunks() {
  for (let at = 0; at < body.length; at += 100_000) yield body.subarray(at, at + 100_000);
}

async function withFetch() {
  const stream = length === "declared" ? body : ReadableStream.from(chunks());
  const response = await fetch(url, { method: "POST", headers, body: stream, duplex: "half" });
  return `${response.status} ${await response.text()}`;
}

function withNode() {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: "POST", headers }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve(`${response.statusCode} ${text}`);
    });
    outgoing.on("error", reject).end(body);
  });
}

for (let round = 0; round < 10; round += 1) {
  const began = performance.now();
  const outcome = await (client === "fetch" ? withFetch() : withNode()).catch(
    (error) => error.cause?.code ?? error.code ?? error.message,
  );
  console.log(JSON.stringify({ outcome, took: performance.now() - began }));
}
