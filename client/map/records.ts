import { bytesText } from "../../contract/sizes.ts";
import { largestResultBytes } from "./script.ts";

/** What a job said of an input: that its run began, its result, or why it failed. */
export type JobRecord = { readonly index: number } & (
  | { readonly kind: "begun" }
  | { readonly kind: "result"; readonly text: string }
  | { readonly kind: "failed"; readonly error: string }
);

/** With its result in base64. What is longer is no record, such as a progress bar without an end of its line. */
const longestRecordBytes = 2 * largestResultBytes;

/** Reads the records in the log of a job as it comes; whatever else it prints is left out. */
export function openRecords(tag: string, onRecord: (record: JobRecord) => void) {
  let rest: Buffer = Buffer.alloc(0);
  return {
    write(bytes: Buffer): void {
      const text = Buffer.concat([rest, bytes]);
      let from = 0;
      for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10, from)) {
        const record = readRecord(tag, text.toString("latin1", from, end));
        if (record !== undefined) onRecord(record);
        from = end + 1;
      }
      rest = text.subarray(Math.max(from, text.length - longestRecordBytes));
    },
    control(): void {},
  };
}

/** A record may stand behind what a run printed without an end of its line. A broken one is none. */
function readRecord(tag: string, line: string): JobRecord | undefined {
  const at = line.lastIndexOf(`${tag} `);
  if (at < 0) return undefined;
  const [, number, kind, size, content = ""] =
    /^ (\d+) (begin|exit|large|result)(?: (\d+))?(?: (\S*))?$/.exec(line.slice(at + tag.length)) ??
    [];
  const index = Number(number);
  if (kind === "begin") return { index, kind: "begun" };
  if (kind === "exit") return { index, kind: "failed", error: `exit code ${size}` };
  if (kind === "large") {
    const most = bytesText(largestResultBytes);
    return {
      ...{ index, kind: "failed" },
      error: `its result has ${bytesText(Number(size))}, and may have ${most}`,
    };
  }
  const result = Buffer.from(content, "base64");
  if (kind !== "result" || result.length !== Number(size)) return undefined;
  return { index, kind: "result", text: result.toString() };
}
