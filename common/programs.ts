import { join } from "node:path";

const fromSource = import.meta.filename.endsWith(".ts");

/** The file that starts one of our programs: its source, or its bundle when we run from one. */
export const programFile = (program: "agent" | "control"): string =>
  fromSource
    ? join(import.meta.dirname, "..", program, "main.ts")
    : join(import.meta.dirname, `${program}.mjs`);
