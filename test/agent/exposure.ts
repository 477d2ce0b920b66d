import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Where a text that is secret can be seen. */

/** The files below a folder that hold the text. */
export function filesWith(folder: string, needle: string): string {
  try {
    return execFileSync("grep", ["-rla", needle, folder], { encoding: "utf8" });
  } catch {
    return "";
  }
}

/** The command lines of all processes. */
export function argumentsOfAll(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(argumentsOf).join("\n");
}

/** A process may end while it is looked at. */
function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
