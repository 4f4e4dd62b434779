import { expect, it } from "vitest";
import { withoutSecrets } from "../../src/testing/secrets.ts";

it.each([
  ['{"token":"abc","name":"x"}', '{"token":"[REDACTED]","name":"x"}'],
  ['{"token":"a\\"bc","name":"x"}', '{"token":"[REDACTED]","name":"x"}'],
  // Cut off within the value, also between a backslash and what it is for.
  ['{"name":"x","password":"abc', '{"name":"x","password":"[REDACTED]"'],
  ['{"name":"x","password":"abc\\', '{"name":"x","password":"[REDACTED]"'],
  // JSON within a text of JSON, with a quote and a backslash in the secret.
  [
    '{"body":"{\\"secret\\":\\"abc\\",\\"a\\":1}"}',
    '{"body":"{\\"secret\\":\\"[REDACTED]\\",\\"a\\":1}"}',
  ],
  [
    JSON.stringify({ body: JSON.stringify({ secret: 'a"b\\', a: 1 }) }),
    '{"body":"{\\"secret\\":\\"[REDACTED]\\",\\"a\\":1}"}',
  ],
  [
    "a=1&private_token=abc&code=def&barcode=1",
    "a=1&private_token=[REDACTED]&code=[REDACTED]&barcode=1",
  ],
])("a text has no secrets: %s", (text, expected) => {
  expect(withoutSecrets(text)).toBe(expected);
});
