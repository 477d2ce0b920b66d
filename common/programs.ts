import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const fromSource = import.meta.filename.endsWith(".ts");

/**
 * What Node.js is told for each program. A smaller young generation is garbage collected more often:
 * ten thousand open requests take 70 MB less in control, an idle agent 2 MB. Without its middle
 * compiler an idle agent takes another 2.5 MB less.
 */
const nodeFlags = {
  control: ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=8"],
  agent: ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=1", "--no-maglev"],
} as const;
export type Program = keyof typeof nodeFlags;

/** The arguments that Node.js runs one of our programs with: its source, or its bundle from one. */
export const programArgs = (program: Program): string[] => [
  ...nodeFlags[program],
  fromSource
    ? join(import.meta.dirname, "..", program, "main.ts")
    : join(import.meta.dirname, `${program}.mjs`),
];

/** Tells one build of a program from another: a digest of all the code it is made of. */
export function buildOf(program: Program): string {
  const hash = createHash("sha256");
  for (const [name, file] of codeOf(program)) hash.update(`${name}\0`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

/** The files of a program, each with its name wherever the program lies. */
function codeOf(program: Program): [name: string, file: string][] {
  const here = import.meta.dirname;
  if (!fromSource) return [[program, join(here, `${program}.mjs`)]];
  return [program, "common", "contract"].flatMap((room) =>
    readdirSync(join(here, "..", room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .map((name) => [`${room}/${name}`, join(here, "..", room, name)] as [string, string]),
  );
}

/** Waits for the first of the signals and says which it was. */
export function untilSignal(...signals: NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve(signal));
  });
}
