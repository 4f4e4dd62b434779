import { expect, it } from "vitest";
import { migrations } from "../../src/database/schema.ts";
import type { Part } from "../../src/jobs/removal.ts";
import { ITERATION_PARTS, ITERATION_REFERENCES } from "../../src/resources/iterations/removal.ts";
import { LABEL_PARTS, LABEL_REFERENCES } from "../../src/resources/labels/removal.ts";
import { MILESTONE_PARTS, MILESTONE_REFERENCES } from "../../src/resources/milestones/removal.ts";
import { GROUP_PARTS, PROJECT_PARTS } from "../../src/resources/namespaces/removal.ts";
import {
  CONTRIBUTIONS,
  OTHER_PARTS,
  USER_PARTS,
  USER_REFERENCES,
} from "../../src/resources/users/removal.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";

it("rows of every table that belongs to what is deleted in batches are deleted or changed in batches", async () => {
  const model = await openStore(":memory:");
  await migrate(model, migrations, 0);
  const belonging = async (to: string, actions: readonly string[]) => {
    const keys = await model.rows(
      `select t.name || '.' || f."from", f.on_delete from pragma_table_list t, pragma_foreign_key_list(t.name) f
       where t.type = 'table' and f."table" = ?`,
      [to],
    );
    return keys
      .filter(([, action]) => actions.includes(action as string))
      .map(([key]) => key)
      .sort();
  };
  const listed = (...parts: Part[]) => parts.map(([table, owner]) => `${table}.${owner}`);
  const [owned, all] = [["CASCADE"], ["CASCADE", "SET NULL"]];

  const ofEvents = ["events.project_id", "event_counts.project_id"];
  expect(await belonging("projects", owned)).toEqual(
    [...listed(...PROJECT_PARTS), ...ofEvents].sort(),
  );
  // Projects and subgroups are deleted on their own, and what is above a group is a few rows.
  const others = ["projects.namespace_id", "namespaces.parent_id"];
  const above = ["namespace_ancestors.namespace_id", "namespace_ancestors.ancestor_id"];
  expect(await belonging("namespaces", owned)).toEqual(
    [...listed(...GROUP_PARTS), ...others, ...above].sort(),
  );

  expect(await belonging("labels", all)).toEqual(
    listed(...LABEL_PARTS, ...LABEL_REFERENCES).sort(),
  );
  expect(await belonging("milestones", all)).toEqual(
    listed(...MILESTONE_PARTS, ...MILESTONE_REFERENCES).sort(),
  );
  expect(await belonging("iterations", all)).toEqual(
    listed(...ITERATION_PARTS, ...ITERATION_REFERENCES).sort(),
  );
  // Their own namespace is deleted before, and totals of events together with these.
  const ofUsers = listed(...CONTRIBUTIONS, ...USER_PARTS, ...USER_REFERENCES, ...OTHER_PARTS);
  expect(await belonging("users", all)).toEqual(
    [...ofUsers, "namespaces.owner_id", "event_counts.author_id"].sort(),
  );
  await model.close();
});
