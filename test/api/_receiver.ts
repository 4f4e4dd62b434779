import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that a receiver got. */
interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
  readonly json: any;
}

/** A receiver of webhooks: a server of its own. */
export interface Receiver {
  readonly url: string;
  /** What it got, in order. */
  readonly received: Received[];
  /** What it answers: a status for each request, or nothing for none at all. */
  answer: (request: Received) => number | undefined;
  close(): Promise<void>;
}

/** Starts a receiver on this machine, which accepts everything unless it is told otherwise. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const one = { path: request.url ?? "", headers: request.headers, json: JSON.parse(text) };
      received.push(one);
      const status = receiver.answer(one);
      if (status === undefined) return;
      response.writeHead(status, { "content-type": "text/plain", "x-answer": "yes" });
      response.end("Thanks");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: () => 200,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}
