// Pushes that send next to nothing: others are received meanwhile, and they end.
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { sendFrom, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf } from "../packs.ts";

let app: TestApp;
let tokens: string[] = [];
beforeAll(async () => {
  app = await testApp();
  const { json } = await app.call("POST /projects", {
    as: "owner",
    json: { name: "slow", visibility: "public" },
  });
  for (const person of ["developer", "maintainer"]) {
    const { json: user } = await app.call(`GET /users?username=${person}`);
    await app.call(`POST /projects/${json.id}/members`, {
      as: "owner",
      json: { user_id: user[0].id, access_level: 40 },
    });
  }
  // Each is a user of its own.
  tokens = await Promise.all(
    ["one", "two", "three", "four"].map(async (name) => {
      const made = await app.call(`POST /projects/${json.id}/access_tokens`, {
        as: "owner",
        json: { name, scopes: ["write_repository"], expires_at: "2099-01-01", access_level: 40 },
      });
      return made.json.token as string;
    }),
  );
  await begin("main", tokenOf("owner")).finish();
});
afterAll(() => app.dispose());
// Time passes only when a test lets it: on a busy machine, any push is slow.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const turns = async () => {
  for (let count = 0; count < 100; count += 1) await new Promise((next) => setImmediate(next));
};

/** Lets some milliseconds pass on the clock that is not the real one. */
async function pass(milliseconds: number) {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await turns();
}

/** A push that sends its first bytes, and waits. */
function begin(branch: string, token: string, ip = "", content: string | Buffer = branch) {
  const { oid, pack } = newCommit(content);
  const body = new Uint8Array(pushOf([{ name: `refs/heads/${branch}`, to: oid }], pack));
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start: (started) => {
      controller = started;
    },
  });
  let at = 0;
  const answer: { status?: number; text?: string } = {};
  /** Until they were read, or there is an answer. */
  const send = async (bytes: number) => {
    controller?.enqueue(body.subarray(at, at + bytes));
    at += bytes;
    const isUnread = () => controller?.desiredSize !== 1 && answer.status === undefined;
    do await turns();
    while (isUnread());
  };
  const request = new Request("http://pm.test/owner/slow.git/git-receive-pack", {
    method: "POST",
    headers: pushHeaders(token),
    body: stream,
    duplex: "half",
  } as RequestInit);
  const answered = sendFrom(app, ip, request).then(async (response) => {
    answer.status = response.status;
    answer.text = await response.text();
    return answer;
  });
  return {
    answer,
    answered,
    send,
    finish: async () => {
      controller?.enqueue(body.subarray(at));
      controller?.close();
      return (await answered).text;
    },
  };
}

type Begun = ReturnType<typeof begin>;

async function endAll(pushes: readonly Begun[]) {
  for (const push of pushes) expect(await push.finish()).toContain("ok refs/heads/");
}

describe("pushes that are sent slowly", () => {
  it("take two slots of one person, whichever tokens they come with", async () => {
    const slow = tokens.flatMap((token, at) => [begin(`a${at}`, token), begin(`b${at}`, token)]);
    for (const push of slow) await push.send(60);
    for (const branch of ["c1", "c2"]) {
      const text = await begin(branch, tokenOf("developer")).finish();
      expect(text).toContain(`ok refs/heads/${branch}`);
    }
    expect(slow.map(({ answer }) => answer.status)).toEqual(slow.map(() => undefined));
    await endAll(slow);
  });

  it("take no slot before they send anything", async () => {
    const silent = Array.from({ length: 8 }, (_, at) => begin(`d${at}`, tokenOf("owner")));
    await turns();
    expect(await begin("d", tokenOf("owner")).finish()).toContain("ok refs/heads/d");
    await endAll(silent);
  });

  it("take six slots of one address", async () => {
    const people = ["owner", "developer", "maintainer", "admin"] as const;
    const slow = people.flatMap((person) =>
      [1, 2].map((at) => begin(`e-${person}-${at}`, tokenOf(person), "192.0.2.1")),
    );
    for (const push of slow) await push.send(60);
    const elsewhere = begin("elsewhere", tokens[0] as string, "192.0.2.2");
    // The owner has two already, from the other address.
    await elsewhere.send(60);
    expect(elsewhere.answer).toEqual({});
    const admin = await begin("e-other", tokenOf("admin"), "192.0.2.2").finish();
    expect(admin).toContain("ok refs/heads/e-other");
    await endAll(slow);
    await endAll([elsewhere]);
  });

  it("end when their clients send less than 1 KiB a second", async () => {
    const [token = ""] = tokens;
    const halfOpen = [begin("f1", token), begin("f2", token)];
    for (const push of halfOpen) {
      await push.send(60);
      // Once the second part is read, the push has its slot.
      await push.send(1);
    }
    const waiting = begin("f3", tokenOf("owner"));
    await waiting.send(60);
    for (let second = 1; second <= 20; second += 1) {
      await pass(1000);
      for (const push of second === 10 ? halfOpen : []) await push.send(1);
    }
    for (const { answered } of halfOpen) {
      expect(await answered).toEqual({
        status: 408,
        text: "408 Request Timeout - The push was sent too slowly\n",
      });
    }
    expect(await waiting.finish()).toContain("ok refs/heads/f3");
  });

  it("wait for half a minute at most", async () => {
    const steady = ["g1", "g2"].map((branch) =>
      begin(branch, tokenOf("owner"), "", randomBytes(1_000_000)),
    );
    for (const push of steady) await push.send(1500);
    const third = begin("g3", tokenOf("owner"));
    await third.send(60);
    let seconds = 0;
    for (; third.answer.text === undefined; seconds += 1) {
      await pass(1000);
      for (const push of steady) await push.send(1500);
    }
    expect(seconds).toBeGreaterThanOrEqual(29);
    expect(await third.answered).toEqual({
      status: 503,
      text: "503 Service Unavailable - Too many pushes are being received. Please try again.\n",
    });
    await endAll(steady);
  });
});
