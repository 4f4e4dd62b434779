import { Agent } from "node:http";
import { csrfTokenOf } from "../../src/core/http/session-cookie.ts";
import type { App } from "../../src/index.ts";
import type { Server } from "./processes.ts";
import { ask, type Latency, reads } from "./reads.ts";

const PEOPLE = 50;
const PASSWORD = "correct horse battery";
const COOKIE = "0".repeat(64);
const nameOf = (index: number) => `sleeper${index}`;

/** Latency of reads while people sign in, and without sign-ins. */
export interface PasswordFigures {
  /** The number of people who repeatedly sign in at once. */
  people: number;
  idle: Latency;
  flooded: Latency;
  signInsPerSecond: number;
}

/** Adds the users who will sign in. */
export async function addPeople(app: App): Promise<void> {
  const people = Array.from({ length: PEOPLE }, (_, index) => nameOf(index));
  await Promise.all(
    people.map((username) =>
      app.admin.users.create({
        username,
        name: username,
        email: `${username}@example.com`,
        password: PASSWORD,
      }),
    ),
  );
}

/** Measures sequential reads for some seconds, first alone and then while people sign in. */
export async function measurePasswords(server: Server, seconds: number): Promise<PasswordFigures> {
  await reads(server, 1);
  const idle = await reads(server, seconds);
  let ended = false;
  let signIns = 0;
  const flood = Array.from({ length: PEOPLE }, async (_, index) => {
    const agent = new Agent({ keepAlive: true });
    while (!ended) {
      await signIn(server, nameOf(index), agent);
      if (!ended) signIns += 1;
    }
    agent.destroy();
  });
  const flooded = await reads(server, seconds);
  ended = true;
  await Promise.all(flood);
  return { people: PEOPLE, idle, flooded, signInsPerSecond: signIns / seconds };
}

function signIn(server: Server, login: string, agent: Agent): Promise<void> {
  const body = new URLSearchParams({
    login,
    password: PASSWORD,
    authenticity_token: csrfTokenOf(COOKIE),
  }).toString();
  const headers = {
    cookie: `_service_session=${COOKIE}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  return ask(`${server.url}/users/sign_in`, { method: "POST", headers, agent }, 303, body);
}
