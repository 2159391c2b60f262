// Writes src/api/schema.gen.ts from the API's OpenAPI document, or with --check says whether it is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

// The document's home; another one can be named to try a contract that has not landed.
const source = process.env.OPENAPI ?? fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));
const target = new URL("../src/api/schema.gen.ts", import.meta.url);
const banner = "// Written by `npm run types` from docs/openapi.json. Do not edit.\n\n";

const fresh =
  banner +
  astToString(await openapiTS(readFileSync(source, "utf8"), { emptyObjectsUnknown: true, defaultNonNullable: false }));
if (!process.argv.includes("--check")) {
  writeFileSync(target, fresh);
} else if (readFileSync(target, "utf8") !== fresh) {
  console.error("src/api/schema.gen.ts is stale against docs/openapi.json: run `npm run types`");
  process.exit(1);
}
