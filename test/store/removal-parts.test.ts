import { expect, it } from "vitest";
import { migrations } from "../../src/database/schema.ts";
import { GROUP_PARTS } from "../../src/resources/groups/removal.ts";
import { PROJECT_PARTS } from "../../src/resources/projects/removal.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";

it("rows of every table that belongs to a project or group are deleted in batches", async () => {
  const model = await openStore(":memory:");
  await migrate(model, migrations, 0);
  const belonging = async (to: string) => {
    const keys = await model.rows(
      `select t.name || '.' || f."from" from pragma_table_list t, pragma_foreign_key_list(t.name) f
       where t.type = 'table' and f."table" = ? and f.on_delete = 'CASCADE'`,
      [to],
    );
    return keys.map(([key]) => key).sort();
  };
  const listed = (parts: typeof PROJECT_PARTS) =>
    parts.map(([table, owner]) => `${table}.${owner}`);
  const ofEvents = ["events.project_id", "event_counts.project_id"];
  expect(await belonging("projects")).toEqual([...listed(PROJECT_PARTS), ...ofEvents].sort());
  // Projects and subgroups are deleted on their own, and what is above a group is a few rows.
  const others = ["projects.namespace_id", "namespaces.parent_id"];
  const above = ["namespace_ancestors.namespace_id", "namespace_ancestors.ancestor_id"];
  const expected = [...listed(GROUP_PARTS), ...others, ...above].sort();
  expect(await belonging("namespaces")).toEqual(expected);
  await model.close();
});
