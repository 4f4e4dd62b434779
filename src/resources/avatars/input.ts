import * as v from "valibot";
import { invalid } from "../../core/errors.ts";
import { IMAGE_TYPES, imageTypeOf } from "../../core/http/images.ts";
import { UploadedFile, type UploadSpec } from "../../core/http/upload.ts";
import type { Attribute } from "../../core/input.ts";

/** Maximum bytes of a picture, as in GitLab. */
export const MAX_AVATAR = 200 * 1024;

/** How routes take a picture in the part `avatar`. */
export const AVATAR_PART: UploadSpec = {
  part: "avatar",
  maxBytes: MAX_AVATAR,
  whenTooLarge: () => invalid({ avatar: ["is too big (should be at most 200 KiB)"] }),
};

const REFUSED = `file format is not supported. Please try one of the following supported formats: ${IMAGE_TYPES.join(", ")}`;

/** A picture, which is an image by its content; `null` if an empty one removes it. */
export function avatar(): Attribute<UploadedFile | null> {
  return v.pipe(
    v.unknown(),
    v.metadata({ type: "file" }),
    v.rawTransform<unknown, UploadedFile | null>(({ dataset, addIssue, NEVER }) => {
      const given = dataset.value;
      if (given === "" || given === null) return null;
      if (!(given instanceof UploadedFile)) {
        addIssue({ message: "is invalid" });
        return NEVER;
      }
      if (given.size === 0) return null;
      if (imageTypeOf(given.head) !== undefined) return given;
      addIssue({ message: REFUSED });
      return NEVER;
    }),
  );
}
