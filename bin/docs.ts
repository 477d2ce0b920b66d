import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { errorCodeOf } from "../common/errors.ts";
import { apiPage } from "./docs/api.ts";
import { examplesPage } from "./docs/examples.ts";
import { exitCodesPage } from "./docs/exit-codes.ts";
import { hooksPage } from "./docs/hooks.ts";
import { knownVariablesModule } from "./docs/known-variables.ts";
import { machineOutputPage } from "./docs/machine-output.ts";
import { outputSchemas } from "./docs/output-schemas.ts";
import { rolesPage } from "./docs/roles.ts";
import { settingsPage } from "./docs/settings.ts";
import { sidecarRefusalsPage } from "./docs/sidecar-refusals.ts";
import { internalStatusesPage, statusesPage } from "./docs/statuses.ts";
import { taskSchema } from "./docs/task-schema.ts";

/** The pages that are made from tables. To add one, add its row. */
const pages = [
  { file: "client/known-variables.ts", render: knownVariablesModule },
  { file: "docs/api.md", render: apiPage },
  { file: "examples/README.md", render: examplesPage },
  { file: "docs/exit-codes.md", render: exitCodesPage },
  { file: "docs/hooks.md", render: hooksPage },
  { file: "docs/internal-statuses.md", render: internalStatusesPage },
  { file: "docs/machine-output.md", render: machineOutputPage },
  { file: "docs/roles.md", render: rolesPage },
  { file: "docs/settings.md", render: settingsPage },
  { file: "docs/sidecar-refusals.md", render: sidecarRefusalsPage },
  { file: "docs/schemas/task.json", render: taskSchema },
  { file: "docs/statuses.md", render: statusesPage },
  ...outputSchemas,
];

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
for (const { file, render } of pages) {
  const text = render();
  if (readText(file) === text) continue;
  if (values.check) refuse(file);
  else writeText(file, text);
}

function refuse(file: string): void {
  console.error(`${file} is not current; run: npm run docs`);
  process.exitCode = 1;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function writeText(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
