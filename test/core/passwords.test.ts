import { afterAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { keepPasswordThreads } from "../../src/auth/password-pool.ts";
import { hashPassword, verifyPassword } from "../../src/auth/passwords.ts";
import { ApiError } from "../../src/core/errors.ts";
import { openStore } from "../../src/store/open.ts";

afterAll(keepPasswordThreads());

/** More tasks than the queue holds. */
const MANY = 120;
/** Fast to compare with: it has the minimum cost. */
const QUICK = `$2b$04$${".".repeat(53)}`;

describe("passwords", () => {
  it("are hashed and verified", async () => {
    const hash = await hashPassword("correct horse");
    expect(hash).toMatch(/^\$2b\$10\$/);
    expect(await verifyPassword("correct horse", hash)).toBe(true);
    expect(await verifyPassword("Correct horse", hash)).toBe(false);
    expect(await verifyPassword("correct horse", null)).toBe(false);
  });

  it("are hashed at the same cost by an application, unless a test lowers it", async () => {
    const costOf = async (...lowered: [number?]) => {
      const store = await openStore(":memory:");
      const app = await createAppOn(store, { background: false }, [], ...lowered);
      await app.admin.seed({ users: [{ username: "ann", password: "correct horse" }] });
      const [row] = await store.rows("select password_hash from users where username = 'ann'");
      await app.close();
      return String(row?.[0]).slice(0, 7);
    };
    expect(await costOf(4)).toBe("$2b$04$");
    expect(await costOf()).toBe("$2b$10$");
  });

  it("are refused if they are too short, or longer than bcrypt reads", async () => {
    await expect(hashPassword("1234567")).rejects.toThrow("too short");
    await expect(hashPassword("é".repeat(37))).rejects.toThrow("too long");
    const hash = await hashPassword("x".repeat(72));
    expect(await verifyPassword("x".repeat(72), hash)).toBe(true);
    expect(await verifyPassword("x".repeat(73), hash)).toBe(false);
  });
});

describe("a flood of sign-ins", () => {
  it("does not block the event loop", async () => {
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 1);
    await Promise.all(Array.from({ length: 4 }, () => verifyPassword("x", null)));
    clearInterval(counting);
    // On this thread, bcrypt yields only a few times in total.
    expect(turns).toBeGreaterThan(20);
  });

  it("is refused when the queue is full, whether such an account exists or not", async () => {
    const flood = Array.from({ length: MANY }, () => verifyPassword("x", QUICK));
    for (const hash of [QUICK, null]) {
      const refused = verifyPassword("x", hash);
      await expect(refused).rejects.toThrow(ApiError);
      await expect(refused).rejects.toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    }
    const results = await Promise.allSettled(flood);
    const answered = results.filter(({ status }) => status === "fulfilled");
    expect(answered.length).toBeGreaterThanOrEqual(100);
    expect(answered.length).toBeLessThan(MANY);
  });
});
