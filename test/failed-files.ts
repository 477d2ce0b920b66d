import type { TestEvent } from "node:test/reporters";

/** A reporter of the files in which a test failed, a line each: what `npm run test:again` runs. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>) {
  const files = new Set<string>();
  for await (const { type, data } of events) if (type === "test:fail") files.add(fileOf(data));
  for (const file of files) yield `${file}\n`;
}

/** The test file; where a helper declares the test, what was run: a file, or the group it is in. */
function fileOf({ file, entryFile }: { file?: string | undefined; entryFile?: string }): string {
  return file?.endsWith(".test.ts") ? file : (entryFile ?? file ?? "unknown");
}
