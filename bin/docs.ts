import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { errorCodeOf } from "../common/errors.ts";
import { apiPage } from "./docs/api.ts";
import { hooksPage } from "./docs/hooks.ts";
import { settingsPage } from "./docs/settings.ts";
import { sidecarPage } from "./docs/sidecar.ts";
import { statusesPage } from "./docs/statuses.ts";

/** The pages that are made from tables. To add one, add its row. */
const pages = [
  { file: "docs/api.md", render: apiPage },
  { file: "docs/hooks.md", render: hooksPage },
  { file: "docs/settings.md", render: settingsPage },
  { file: "docs/sidecar.md", render: sidecarPage },
  { file: "docs/statuses.md", render: statusesPage },
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
