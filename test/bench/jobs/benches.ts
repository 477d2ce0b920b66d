import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { jobsFirstLine, jobsRecovered } from "./delays.ts";
import { jobLists } from "./lists.ts";
import { manyJobs } from "./many.ts";
import { jobMemory } from "./memory.ts";

/** The benches of managed jobs, by name. */
export const jobBenches: Record<string, (lab: Lab) => Promise<Figure[]>> = {
  "jobs-many": manyJobs,
  "jobs-memory": jobMemory,
  "jobs-lists": jobLists,
  "jobs-first-line": jobsFirstLine,
  "jobs-recovered": jobsRecovered,
};
