import { expect, it } from "vitest";
import { openMemory } from "../../src/store/open.ts";
import { ConstraintError } from "../../src/store/port.ts";
import type { MemoryStore } from "../../src/store/sqlite.ts";

async function started(): Promise<MemoryStore> {
  const store = await openMemory();
  await store.transaction(async (db) => {
    await db.run("create table parents (id integer primary key autoincrement, name text unique)");
    await db.run("create table children (parent_id integer not null references parents (id))");
    await db.run("insert into parents (name) values ('first')");
  });
  return store;
}

const namesIn = async (store: MemoryStore) =>
  (await store.rows("select id, name from parents order by id")).map((row) => row.join(" "));
const add = (store: MemoryStore, name: string) =>
  store.transaction((db) => db.run("insert into parents (name) values (?)", [name]));

it("A database in memory goes back to its mark any number of times, with the ids that come next", async () => {
  const store = await started();
  await expect(store.rewind()).rejects.toThrow("no mark");
  await store.mark();
  for (let round = 0; round < 3; round += 1) {
    for (const name of ["a", "b", "c"]) await add(store, name);
    await store.transaction((db) => db.run("delete from parents where name = 'first'"));
    expect(await namesIn(store)).toEqual(["2 a", "3 b", "4 c"]);
    await store.rewind();
    expect(await namesIn(store)).toEqual(["1 first"]);
  }
  await store.close();
});

it("After a mark, a transaction that fails takes back its own changes only, and constraints hold", async () => {
  const store = await started();
  await store.mark();
  await add(store, "kept");
  const failed = store.transaction(async (db) => {
    await db.run("insert into parents (name) values ('lost')");
    await db.run("insert into parents (name) values ('kept')");
  });
  await expect(failed).rejects.toBeInstanceOf(ConstraintError);
  const orphan = store.transaction((db) => db.run("insert into children values (99)"), {
    shared: true,
  });
  await expect(orphan).rejects.toMatchObject({ rule: "foreign key" });
  const seen = await store.snapshot((db) => db.rows("select name from parents order by id"));
  expect(seen).toEqual([["first"], ["kept"]]);
  await expect(store.backup("never-written.db")).rejects.toMatchObject({ code: "unsupported" });
  await store.close();
});

it("An image is a state of its own, whatever is written afterwards, on both sides", async () => {
  const store = await started();
  await store.mark();
  await add(store, "later");
  const image = await store.image();
  await add(store, "last");
  const [one, other] = [await openMemory(image), await openMemory(image)];
  await one.mark();
  await add(one, "of one");
  expect(await namesIn(one)).toEqual(["1 first", "2 later", "3 of one"]);
  expect(await namesIn(other)).toEqual(["1 first", "2 later"]);
  await expect(
    other.transaction((db) => db.run("insert into children values (99)")),
  ).rejects.toMatchObject({ rule: "foreign key" });
  expect(await namesIn(store)).toEqual(["1 first", "2 later", "3 last"]);
  await one.rewind();
  expect(await namesIn(one)).toEqual(["1 first", "2 later"]);
  // The mark has moved to where the image was made.
  await store.rewind();
  expect(await namesIn(store)).toEqual(["1 first", "2 later"]);
  // A copy of a copy has what was written in between.
  const again = await openMemory(await other.image());
  await again.mark();
  await add(again, "again");
  const third = await openMemory(await again.image());
  expect(await namesIn(third)).toEqual(["1 first", "2 later", "3 again"]);
  for (const open of [store, one, other, again, third]) await open.close();
  image.close();
});
