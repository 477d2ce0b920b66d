import { auditOperations } from "./audit/operations.ts";
import type { Bound } from "./bind.ts";
import { cloudOperations } from "./clouds/operations.ts";
import { clusterOperations } from "./clusters/operations.ts";
import { orphanOperations } from "./clusters/orphans.ts";
import { dashboardOperations } from "./dashboard.ts";
import { eventOperations } from "./event-stream.ts";
import { explainOperations } from "./explain.ts";
import { jobOperations } from "./jobs/operations.ts";
import { kubernetesOperations } from "./kubernetes.ts";
import { localKubernetesOperations } from "./local-kubernetes.ts";
import { recipeOperations } from "./recipes/operations.ts";
import { requestOperations } from "./requests/operations.ts";
import { secretOperations } from "./secrets/operations.ts";
import { poolOperations, serviceOperations } from "./services/operations.ts";
import { sessionOperations } from "./sessions/operations.ts";
import { slurmOperations } from "./slurm.ts";
import { sshPoolOperations } from "./ssh-pools/operations.ts";
import { storageOperations } from "./storage/operations.ts";
import { tokenOperations } from "./tokens/operations.ts";
import { uploadOperations } from "./uploads/operations.ts";
import { userOperations } from "./users/operations.ts";
import { volumeOperations } from "./volumes/operations.ts";
import { workspaceOperations } from "./workspaces/operations.ts";

/** Every operation that has code. */
export const operations: Bound[] = [
  ...requestOperations,
  ...clusterOperations,
  ...eventOperations,
  ...explainOperations,
  ...orphanOperations,
  ...cloudOperations,
  ...kubernetesOperations,
  ...localKubernetesOperations,
  ...workspaceOperations,
  ...userOperations,
  ...tokenOperations,
  ...auditOperations,
  ...serviceOperations,
  ...poolOperations,
  ...jobOperations,
  ...recipeOperations,
  ...sessionOperations,
  ...sshPoolOperations,
  ...slurmOperations,
  ...uploadOperations,
  ...storageOperations,
  ...secretOperations,
  ...volumeOperations,
  ...dashboardOperations,
];
