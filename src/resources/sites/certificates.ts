import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { AttributeErrors } from "../../core/errors.ts";

function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

function keyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with a certificate and its key, both in PEM; nothing if they belong to each other. */
export function certificateErrors(certificate: string, key: string): AttributeErrors {
  const [read, secret] = [certificateIn(certificate), keyIn(key)];
  return {
    ...(!read && { certificate: ["must be a valid PEM certificate"] }),
    ...(!secret && { key: ["must be a valid PEM private key"] }),
    ...(read &&
      secret &&
      !read.checkPrivateKey(secret) && { key: ["doesn't match the certificate"] }),
  };
}

/** What a certificate says, as answers show it. */
export function describe(certificate: string, now: number) {
  const read = certificateIn(certificate);
  // Commas are escaped, which are no separators here.
  const nameOf = (name: string) => `/${name.replaceAll("\n", "/").replaceAll("\\,", ",")}`;
  const expires = Date.parse(read?.validTo ?? "");
  return {
    subject: read ? nameOf(read.subject) : "",
    expired: !(expires > now),
    expiration: Number.isNaN(expires) ? null : new Date(expires).toISOString(),
    certificate,
    certificate_text: read
      ? [
          "Certificate:",
          `    Serial Number: ${read.serialNumber}`,
          `    Issuer: ${nameOf(read.issuer)}`,
          `    Not Before: ${read.validFrom}`,
          `    Not After : ${read.validTo}`,
          `    Subject: ${nameOf(read.subject)}`,
          "",
        ].join("\n")
      : "",
  };
}
