import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { summaryOf } from "../resources/releases/evidences.ts";

const code = routes({
  source: "project",
  isAddress: true,
  repository: true,
  features: ["releases"],
});

/** Addresses of what was collected as evidence of releases. */
export const evidenceAddresses: readonly Route[] = [
  code.get("/-/releases/:tag_name/evidences/:evidence_id.json", {
    summary: "Get what a release was when it was collected",
    access: "anyone",
    answersWith: "application/json",
    input: { tag_name: param.anyText({ max: 1024 }), evidence_id: param.recordId() },
    handle: async ({ db, source, input }) => {
      const found = await summaryOf(db, source.id, input.tag_name, input.evidence_id);
      if (found === undefined) throw notFound();
      return new RawReply(200, { "content-type": "application/json" }, found);
    },
  }),
];
