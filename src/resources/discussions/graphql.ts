import {
  arg,
  type GraphqlModule,
  inputType,
  mutation,
  notAvailable,
  property,
  routeOf,
} from "../../graphql/declare.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { placeRouteOf } from "../issuables/places.ts";
import type { NoteableType } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import { firstNoteOf, NOTEABLE_CLASSES, placeOfNote, placeOfNoteable } from "../notes/places.ts";
import { discussionResource, writeRouteOf } from "./index.ts";

const DISCUSSION = ["Discussion", "IndividualNoteDiscussion", "DiffDiscussion"];
const noteableId = arg.required(arg.gidOf("NoteableID", NOTEABLE_CLASSES));
const discussionId = arg.textGid("Discussion", DISCUSSION);

const beginOn = (type: NoteableType) =>
  routeOf(discussionResource, `POST ${placeRouteOf(type)}/:noteable_id/discussions`);
const resolveOn = (type: NoteableType) =>
  routeOf(discussionResource, `PUT ${placeRouteOf(type)}/:noteable_id/discussions/:discussion_id`);

const PATHS = inputType("DiffPathsInput", "The paths of a changed file.", {
  oldPath: arg.string,
  newPath: arg.string,
});
const POSITION = inputType("DiffPositionInput", "A place in a diff.", {
  baseSha: arg.string,
  headSha: arg.required(arg.string),
  startSha: arg.required(arg.string),
  paths: arg.required(arg.input(PATHS)),
  oldLine: arg.int,
  newLine: arg.int,
});

/** The id of the first note of a discussion that a route has answered. */
function firstOf(discussion: Readonly<Record<string, unknown>>): number | undefined {
  const [first] = discussion["notes"] as readonly { id: number }[];
  return first?.id;
}

/** Writing in discussions. */
export const graphqlModule: GraphqlModule = {
  mutations: {
    createNote: mutation({
      about: "Write a note, or reply in a discussion.",
      input: {
        noteableId,
        body: arg.required(arg.string),
        internal: arg.boolean,
        discussionId,
      },
      payload: { note: property("Note") },
      run: async ({ noteableId, body, internal, discussionId }, { call, db }) => {
        const { type, at } = await placeOfNoteable(db, noteableId);
        const written = await call(writeRouteOf(type), {
          ...at,
          body,
          internal,
          discussion_id: discussionId,
        });
        return { note: written["id"] };
      },
    }),
    createDiscussion: mutation({
      about: "Begin a discussion.",
      input: { noteableId, body: arg.required(arg.string), internal: arg.boolean },
      payload: { note: property("Note") },
      run: async ({ noteableId, body, internal }, { call, db }) => {
        const { type, at } = await placeOfNoteable(db, noteableId);
        return { note: firstOf(await call(beginOn(type), { ...at, body, internal })) };
      },
    }),
    createDiffNote: mutation({
      about: "Begin a discussion on a line of a merge request's diff.",
      input: {
        noteableId,
        body: arg.required(arg.string),
        position: arg.required(arg.input(POSITION)),
        internal: arg.boolean,
      },
      payload: { note: property("Note") },
      run: async ({ noteableId, body, internal, position }, { call, db }) => {
        const { type, at } = await placeOfNoteable(db, noteableId);
        if (type !== MERGE_REQUEST) throw notAvailable();
        const { baseSha, headSha, startSha, paths, oldLine, newLine } = position;
        const sent = {
          // As in GitLab: without a base, the diff is that from the start.
          base_sha: baseSha ?? startSha,
          head_sha: headSha,
          start_sha: startSha,
          position_type: "text",
          old_path: paths.oldPath,
          new_path: paths.newPath,
          old_line: oldLine,
          new_line: newLine,
        };
        const begun = await call(beginOn(type), { ...at, body, internal, position: sent });
        return { note: firstOf(begun) };
      },
    }),
    discussionToggleResolve: mutation({
      about: "Resolve a discussion of an issue or merge request, or take that back.",
      input: { id: arg.required(discussionId), resolve: arg.required(arg.boolean) },
      payload: { discussion: property("Discussion") },
      run: async ({ id, resolve }, { call, db }) => {
        const first = await firstNoteOf(db, id);
        const { type, at } = await placeOfNote(db, first);
        if (!isIssuable(type)) throw notAvailable();
        await call(resolveOn(type), { ...at, discussion_id: id, resolved: resolve });
        return { discussion: first };
      },
    }),
  },
};
