import {
  arg,
  type Face,
  mutation,
  notAvailable,
  property,
  routeOf,
} from "../../graphql/declare.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { NoteableType } from "../issuables/type.ts";
import { firstNoteOf, NOTEABLE_CLASSES, placeOfNote, placeOfNoteable } from "../notes/places.ts";
import { discussionResource, writeRouteOf } from "./index.ts";

const DISCUSSION = ["Discussion", "IndividualNoteDiscussion", "DiffDiscussion"];
const noteableId = arg.required(arg.gidOf("NoteableID", NOTEABLE_CLASSES));
const discussionId = arg.textGid("Discussion", DISCUSSION);

const beginOn = ({ path }: NoteableType) =>
  routeOf(discussionResource, `POST /projects/:id/${path}/:noteable_id/discussions`);
const RESOLVE = routeOf(
  discussionResource,
  `PUT /projects/:id/${MERGE_REQUEST.path}/:noteable_id/discussions/:discussion_id`,
);

/** Writing in discussions. */
export const face: Face = {
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
        const begun = await call(beginOn(type), { ...at, body, internal });
        const [first] = begun["notes"] as readonly { id: number }[];
        return { note: first?.id };
      },
    }),
    discussionToggleResolve: mutation({
      about: "Resolve a discussion of a merge request, or take that back.",
      input: { id: arg.required(discussionId), resolve: arg.required(arg.boolean) },
      payload: { discussion: property("Discussion") },
      run: async ({ id, resolve }, { call, db }) => {
        const first = await firstNoteOf(db, id);
        const { type, at } = await placeOfNote(db, first);
        if (type !== MERGE_REQUEST) throw notAvailable();
        await call(RESOLVE, { ...at, discussion_id: id, resolved: resolve });
        return { discussion: first };
      },
    }),
  },
};
