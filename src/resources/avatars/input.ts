import { invalid } from "../../core/errors.ts";
import { IMAGE_TYPES, imageTypeOf } from "../../core/http/images.ts";
import { UploadedFile, type UploadSpec } from "../../core/http/upload.ts";
import { type Attribute, attribute, checked, REFUSED } from "../../core/input.ts";

/** Maximum bytes of a picture, as in GitLab. */
export const MAX_AVATAR = 200 * 1024;

/** How routes take a picture in the part `avatar`. */
export const AVATAR_PART: UploadSpec = {
  part: "avatar",
  maxBytes: MAX_AVATAR,
  whenTooLarge: () => invalid({ avatar: ["is too big (should be at most 200 KiB)"] }),
};

const NO_IMAGE = `file format is not supported. Please try one of the following supported formats: ${IMAGE_TYPES.join(", ")}`;

/** A picture, which is an image by its content; `null` if an empty one removes it. */
export function avatar(): Attribute<UploadedFile | null> {
  const upload = attribute<UploadedFile | null>({ type: "file" }, (given) => {
    if (given === "" || given === null) return null;
    if (!(given instanceof UploadedFile)) return REFUSED;
    return given.size === 0 ? null : given;
  });
  return checked(
    upload,
    (given) => given === null || imageTypeOf(given.head) !== undefined,
    NO_IMAGE,
  );
}
