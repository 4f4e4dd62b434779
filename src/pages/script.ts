import { digest } from "../core/digest.ts";
import { Html } from "./html.ts";

/** A script of a page, without which everything can be done as well. */
export interface Script {
  /** As inlined in the page. */
  readonly markup: Html;
  /** What the content security policy of the page allows because of it. */
  readonly policy: string;
}

/** A script that pages may have. @param more that its pages allow */
export function scriptOf(code: string, more = ""): Script {
  const name = Buffer.from(digest("sha256", code), "hex").toString("base64");
  return {
    markup: new Html(`<script>${code}</script>`),
    policy: `; script-src 'sha256-${name}'${more}`,
  };
}
