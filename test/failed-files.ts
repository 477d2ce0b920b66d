import type { TestEvent } from "node:test/reporters";

/** A reporter of the files in which a test failed, a line each: what `npm run test:again` runs. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>) {
  const files = new Set<string>();
  for await (const { type, data } of events) if (type === "test:fail") files.add(fileOf(data));
  for (const file of files) yield `${file}\n`;
}

/** The file that was run, also where a helper declares the test. */
function fileOf(data: { file?: string | undefined; entryFile?: string }): string {
  return data.entryFile ?? data.file ?? "unknown";
}
