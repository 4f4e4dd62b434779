// Prints the TypeScript types of a schema and of documents: `node codegen.mjs SCHEMA DOCUMENTS`, both files.
import { readFileSync } from "node:fs";
import { codegen } from "@graphql-codegen/core";
import * as typescript from "@graphql-codegen/typescript";
import * as operations from "@graphql-codegen/typescript-operations";
import { parse } from "graphql";

const [schema, document] = process.argv.slice(2).map((file) => parse(readFileSync(file, "utf8")));
const types = await codegen({
  filename: "types.ts",
  schema,
  documents: [{ location: "documents.graphql", document }],
  config: { defaultScalarType: "string", enumsAsTypes: true },
  plugins: [{ typescript: {} }, { operations: {} }],
  pluginMap: { typescript, operations },
});
process.stdout.write(types);
