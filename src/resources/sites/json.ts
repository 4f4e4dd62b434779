import * as field from "../../core/field.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { describe } from "./certificates.ts";

/** What is published of a project, and where. A handler makes its rows. */
export const sitePresenter = presenter({
  url: field.text("url"),
  is_unique_domain_enabled: field.flag("is_unique_domain_enabled"),
  force_https: field.flag("force_https"),
  deployments: field.json("deployments", "array", {
    items: {
      created_at: field.instant("created_at"),
      url: field.text("url"),
      path_prefix: field.text("path_prefix"),
      root_directory: field.text("root_directory"),
    },
  }),
  primary_domain: field.text("primary_domain"),
});

/** A row of {@link sitePresenter}. */
export const siteRow = rowMaker(sitePresenter);

const certificate = (
  names: readonly ("subject" | "expired" | "expiration" | "certificate" | "certificate_text")[],
) =>
  field.omittedIfNull({
    ...field.derived(["sd.certificate"], "object", ([stored], { now }) => {
      const described = describe(String(stored), now);
      return Object.fromEntries(names.map((name) => [name, described[name]]));
    }),
    fields: Object.fromEntries(
      names.map((name) => [
        name,
        name === "expired"
          ? field.flag(name)
          : name === "expiration"
            ? field.instant(name)
            : field.text(name),
      ]),
    ),
  });

const common = {
  domain: field.text("sd.domain"),
  url: field.derived(["sd.domain", "sd.certificate"], "URL", ([domain, stored]) =>
    stored === null ? `http://${domain}` : `https://${domain}`,
  ),
  verified: field.derived(["sd.verified_at"], "boolean", ([at]) => at !== null),
  verification_code: field.text("sd.verification_code"),
  enabled_until: field.constant(null),
  auto_ssl_enabled: field.flag("sd.auto_ssl_enabled"),
};

/** A domain of a project's site. */
export const domainPresenter = presenter({
  ...common,
  certificate: certificate(["subject", "expired", "certificate", "certificate_text"]),
});

/** A domain among those of all projects. */
export const listedDomain = presenter({
  ...common,
  project_id: field.integer("sd.project_id"),
  certificate: certificate(["expired", "expiration"]),
});
