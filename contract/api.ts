import type { Operation } from "../common/operation.ts";
import { auditOperations } from "./operations/audit.ts";
import { authOperations } from "./operations/auth.ts";
import { cloudOperations } from "./operations/clouds.ts";
import { clusterOperations } from "./operations/clusters.ts";
import { debugOperations } from "./operations/debug.ts";
import { eventOperations } from "./operations/events.ts";
import { explainOperations } from "./operations/explain.ts";
import { jobOperations } from "./operations/jobs.ts";
import { localOperations } from "./operations/local.ts";
import { orphanOperations } from "./operations/orphans.ts";
import { pageOperations } from "./operations/pages.ts";
import { poolOperations } from "./operations/pools.ts";
import { recipeOperations } from "./operations/recipes.ts";
import { requestOperations } from "./operations/requests.ts";
import { secretOperations } from "./operations/secrets.ts";
import { serveOperations } from "./operations/serve.ts";
import { sshNodePoolOperations } from "./operations/ssh-node-pools.ts";
import { storageOperations } from "./operations/storage.ts";
import { taskOperations } from "./operations/tasks.ts";
import { tokenOperations } from "./operations/tokens.ts";
import { uploadOperations } from "./operations/uploads.ts";
import { userOperations } from "./operations/users.ts";
import { volumeOperations } from "./operations/volumes.ts";
import { workspaceOperations } from "./operations/workspaces.ts";

interface Group {
  readonly title: string;
  /** What the API document lists it under: the protocol's word, where it has one. */
  readonly tag: string;
  readonly operations: readonly Operation[];
}

const group = (title: string, rows: Readonly<Record<string, Operation>>, tag = title): Group => ({
  title,
  tag,
  operations: Object.values(rows),
});

/** The HTTP API, in the order in which people read it. */
export const operationGroups: readonly Group[] = [
  group("Clusters", clusterOperations),
  group("Events", { ...eventOperations, ...explainOperations }),
  group("Tasks", taskOperations),
  group("Requests", requestOperations),
  group("Managed jobs", jobOperations, "jobs"),
  group("Pools", poolOperations, "jobs"),
  group("Services", serveOperations, "serve"),
  group("Clouds", cloudOperations),
  group("SSH node pools", sshNodePoolOperations, "ssh_node_pools"),
  group("Local cluster", localOperations),
  group("Volumes", volumeOperations, "volumes"),
  group("Storage", storageOperations),
  group("Uploads", uploadOperations),
  group("Secrets", secretOperations),
  group("Workspaces", workspaceOperations, "workspaces"),
  group("Recipes", recipeOperations, "recipes"),
  group("Users", userOperations, "users"),
  group("Service accounts", tokenOperations, "users"),
  group("Login", authOperations),
  group("Audit log", auditOperations),
  group("Web interface", pageOperations),
  group("Orphans", orphanOperations),
  group("Support", debugOperations),
];

/** Every operation of the HTTP API. */
export const operations: readonly Operation[] = operationGroups.flatMap((one) => one.operations);

/** The title and the tag of the group that lists the operation. */
export const groupOf = (row: Operation): Pick<Group, "title" | "tag"> =>
  operationGroups.find((one) => one.operations.includes(row)) ?? { title: "Other", tag: "Other" };

/** The operation of that name, or undefined. */
export const findOperation = (name: string): Operation | undefined =>
  operations.find((row) => row.name === name);
