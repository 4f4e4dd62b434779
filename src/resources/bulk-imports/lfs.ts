import { Budget } from "../../turns/budget.ts";
import * as largeFiles from "../fetched-changes/large-files.ts";
import { addressOfCode } from "./code.ts";
import type { Bringing } from "./running.ts";

/** Brings the objects of Git LFS that pointers in the repository stand for, and that are not here. */
export async function bringLargeFiles(bringing: Bringing): Promise<void> {
  await bringing.part("lfs_objects", () => {
    const { running, place } = bringing;
    const { store, now, signal, source: client } = running;
    return largeFiles.bringLargeFiles({
      ...{ store, now, signal, client, projectId: place.id },
      url: addressOfCode(bringing, ".git"),
      budget: new Budget(signal),
      onFailure: (oid, error) => bringing.fail("lfs_objects", error, oid),
      onSeen: (count) => bringing.tell("lfs_objects", count),
    });
  });
}
