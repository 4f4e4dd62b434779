/**
 * What is wrong with a URL that pages show as a link, in GitLab's words; `undefined` if it is one of the web. Others, such
 * as `javascript:`, would be run by whoever follows it.
 */
export function webAddressProblem(url: string): string | undefined {
  if (!/^https?:\/\//i.test(url)) return "is blocked: Only allowed schemes are http, https";
  return URL.canParse(url) ? undefined : "must be a valid URL";
}
