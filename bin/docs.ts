import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { unlessMissing } from "../common/files.ts";
import { apiParts } from "./docs/api.ts";
import { exampleParts } from "./docs/examples.ts";
import { exitCodeParts } from "./docs/exit-codes.ts";
import { hookParts } from "./docs/hooks.ts";
import { knownVariables } from "./docs/known-variables.ts";
import { machineOutputParts } from "./docs/machine-output.ts";
import { outputSchemas } from "./docs/output-schemas.ts";
import { type Parts, withParts } from "./docs/parts.ts";
import { roleParts } from "./docs/roles.ts";
import { settingsParts } from "./docs/settings.ts";
import { sidecarRefusalParts } from "./docs/sidecar-refusals.ts";
import { internalStatusParts, statusParts } from "./docs/statuses.ts";
import { taskSchema } from "./docs/task-schema.ts";

/** The files that are made from tables. To add one, add its row. */
const files: readonly { file: string; render: () => unknown }[] = [
  { file: "client/known-variables.json", render: knownVariables },
  { file: "docs/schemas/task.json", render: taskSchema },
  ...outputSchemas,
];

/** The pages of which parts are made from tables; their prose is written in the pages themselves. */
const pages: Readonly<Record<string, Parts>> = {
  "docs/api.md": apiParts,
  "examples/README.md": exampleParts,
  "docs/exit-codes.md": exitCodeParts,
  "docs/hooks.md": hookParts,
  "docs/internal-statuses.md": internalStatusParts,
  "docs/machine-output.md": machineOutputParts,
  "docs/roles.md": roleParts,
  "docs/settings.md": settingsParts,
  "docs/sidecar-refusals.md": sidecarRefusalParts,
  "docs/statuses.md": statusParts,
};

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
for (const { file, render } of files) keep(file, `${JSON.stringify(render(), null, 2)}\n`);
for (const [file, parts] of Object.entries(pages))
  keep(file, withParts(file, readText(file), parts));

/** Writes a file, or refuses one that is not as it should be. */
function keep(file: string, text: string): void {
  if (readText(file) === text) return;
  if (values.check) refuse(file);
  else writeText(file, text);
}

function refuse(file: string): void {
  console.error(`${file} is not current; run: npm run docs`);
  process.exitCode = 1;
}

function readText(file: string): string | undefined {
  return unlessMissing(() => readFileSync(file, "utf8"));
}

function writeText(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
