import type { Line } from "./lines.ts";

/** A task file, and what must come of a dry run of it. */
export interface TaskFile {
  readonly name: string;
  readonly text: string;
  /** Accepted, also where this machine is too small for it. */
  readonly isAccepted: boolean;
  /** What the dry run shows. */
  readonly shows: string;
}

/**
 * Reads a list of task files. Each begins with `=== NAME`, and is accepted; with `=== NAME | WORDS` it is
 * refused by a sentence that has these words, or accepted where they are `nothing offers`.
 */
export function readTaskFiles(list: string): TaskFile[] {
  return list
    .split(/^=== /m)
    .slice(1)
    .map((section) => {
      const [head = "", ...lines] = section.split("\n");
      const [name = "", shows = "Cluster none: "] = head.split(" | ");
      const isAccepted = shows === "Cluster none: " || shows.startsWith("nothing offers");
      return { name: `${name.trim()}.yaml`, text: lines.join("\n"), isAccepted, shows };
    });
}

/** The dry run of a task file that lies in the folder `tasks`. */
export const dryRunOf = ({ name, shows }: TaskFile): Line => {
  const isPlanned = shows === "Cluster none: ";
  return {
    args: ["launch", "-y", "-c", "none", "--dryrun", `tasks/${name}`],
    outcome: isPlanned ? "answer" : "sentence",
    exitCode: isPlanned ? 0 : 1,
    shows: [shows],
  };
};
