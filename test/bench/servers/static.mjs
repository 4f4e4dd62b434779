// Serves the files of a folder, and takes new ones, with nothing but node:http: what transfers are compared with.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ready } from "./control.mjs";

const [root = "."] = process.argv.slice(2);

const server = createServer(async (request, response) => {
  const file = join(root, String(request.url).replaceAll("/", "_"));
  if (request.method === "PUT") {
    const hash = createHash("sha256");
    await pipeline(
      request,
      async function* hashed(chunks) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(file),
    );
    response.setHeader("x-sha256", hash.digest("hex"));
    return response.end();
  }
  response.setHeader("content-length", statSync(file).size);
  response.setHeader("content-type", "application/octet-stream");
  createReadStream(file).pipe(response);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  ready(`http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}`);
});
