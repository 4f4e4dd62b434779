import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/node.ts";
import { testApp } from "../helpers.ts";
import { adapterTests } from "./_tests.ts";

adapterTests({
  name: "serve of pm-api/node",
  alone: true,
  start: async () => {
    const app = await testApp();
    const server = await serve(app, { port: 0 });
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await app.dispose();
      },
    };
  },
});

describe("requests that HTTP can't read", () => {
  /** What the server sends until it closes the connection. */
  async function answerTo(sent: readonly string[]): Promise<string> {
    const app = await testApp();
    const server = await serve(app, { port: 0 });
    onTestFinished(async () => {
      await server.close();
      await app.dispose();
    });
    const connection = connect(Number(new URL(server.url).port), "127.0.0.1");
    const closed = once(connection, "close");
    let answer = "";
    connection.on("data", (part) => {
      answer += part;
    });
    for (const text of sent) {
      if (!connection.destroyed) connection.write(text);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    connection.end();
    await closed;
    return answer;
  }
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: pm.test\r\n`;
  const tooLarge = JSON.stringify({ error: "431 Request Header Fields Too Large" });

  it("are told that their address is too long, as JSON, though they go on sending", async () => {
    const parts = Array.from({ length: 50 }, () => "a".repeat(1000));
    const answer = await answerTo([`GET /api/v4/version?${parts[0]}`, ...parts]);
    expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(answer).toMatch(/\r\ncontent-type: application\/json\r\n/);
    expect(answer).toMatch(new RegExp(`\r\n\r\n${tooLarge}$`));
  });

  it("are told after an answer on the same connection, and that they are no HTTP", async () => {
    const first = `${get("/api/v4/version")}\r\n`;
    const answer = await answerTo([first, `${get("/api/v4/version")}X: ${"a".repeat(20_000)}`]);
    expect(answer).toMatch(/^HTTP\/1\.1 401 .*HTTP\/1\.1 431 /s);
    expect(answer.endsWith(tooLarge)).toBe(true);
    expect(await answerTo(["HELLO\r\n\r\n"])).toMatch(
      /^HTTP\/1\.1 400 Bad Request\r\n.*\{"error":"400 Bad Request"\}$/s,
    );
  });
});
