// Writes src/api/schema.gen.ts from the OpenAPI document, or with --check fails when it is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

// $OPENAPI names another document, to try a contract before it is merged.
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
