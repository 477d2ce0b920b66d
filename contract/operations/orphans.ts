import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { text } from "../caps.ts";
import { record } from "../records/record.ts";
import { body } from "./fields.ts";

/** A cluster whose nodes are there, and which the database does not have. */
export const Orphan = record("Orphan", {
  id: z.string(),
  name: z.string().nullable().describe("Null where its nodes do not say."),
  provider: z.string(),
  nodes: z.int().min(0).describe("How many were found."),
  jobs: z.int().min(0).nullable().describe("How many of its jobs have not ended."),
});
export type Orphan = z.output<typeof Orphan>;

const named = body("OrphanBody", { cluster: text.describe("Its name, or its id.") });

/** Clusters that a lost or restored database does not have. */
export const orphanOperations = operationsOf("orphans.", {
  list: {
    name: "orphans",
    route: "GET /orphans",
    summary: "List clusters whose nodes exist but which are missing from the database.",
    access: "admin",
    output: z.array(Orphan),
  },
  adopt: {
    route: "POST /orphans/adopt",
    summary: "Add such a cluster to the database as yours; its jobs are not interrupted.",
    access: "admin",
    input: named,
    output: Orphan,
    errors: ["NotFoundError", "ConflictError"],
  },
  end: {
    route: "POST /orphans/end",
    summary: "End such a cluster: its jobs and its nodes, without hooks.",
    access: "admin",
    input: named,
    output: Orphan,
    errors: ["NotFoundError", "ConflictError", "CloudError"],
  },
});
