import * as z from "zod";
import { identityForm, importForm, newTokenForm, roleForm, tokenForm, userForm } from "./access.ts";
import { actionForm } from "./actions.ts";
import { auditForm, verdictForm } from "./audit.ts";
import { clusterForm, costForm, costGroupForm, endpointForm } from "./clusters.ts";
import { contextForm, settingForm } from "./configuration.ts";
import {
  checkForm,
  explanationForm,
  gpuUseForm,
  infoForm,
  keyForm,
  machineForm,
  orphanForm,
  poolForm,
  requestForm,
  restorationForm,
} from "./control.ts";
import { ErrorOutput } from "./error.ts";
import { downloadForm, logFileForm } from "./files.ts";
import { findingForm, versionForm } from "./installation.ts";
import { eventForm, jobForm, jobStatusForm } from "./jobs.ts";
import { logLineForm } from "./logs.ts";
import { managedJobEventForm, managedJobForm, mapForm } from "./managed-jobs.ts";
import { recipeForm } from "./recipes.ts";
import { secretForm } from "./secrets.ts";
import { serviceForm, workerPoolForm } from "./services.ts";
import { storageForm } from "./storage.ts";
import { volumeForm } from "./volumes.ts";
import { configurationForm, configurationVersionForm, workspaceForm } from "./workspaces.ts";

/** A form of JSON that commands print. */
export interface Output {
  /** Its schema is `docs/schemas/<name>.json`. */
  readonly name: string;
  readonly schema: z.ZodType;
  /** The command lines that print it. */
  readonly printedBy: readonly string[];
  /** One object a line, as JSON Lines, instead of one document. */
  readonly isLines?: true;
}

const listOf = ({ schema }: { readonly schema: z.ZodObject }) => z.array(schema);

/** Everything that is printed as JSON. */
export const outputs: readonly Output[] = [
  { name: "clusters", schema: listOf(clusterForm), printedBy: ["status"] },
  { name: "endpoints", schema: listOf(endpointForm), printedBy: ["status --endpoints"] },
  { name: "jobs", schema: listOf(jobForm), printedBy: ["queue"] },
  { name: "managed-jobs", schema: listOf(managedJobForm), printedBy: ["jobs queue", "jobs wait"] },
  { name: "managed-job-events", schema: listOf(managedJobEventForm), printedBy: ["jobs events"] },
  { name: "map", schema: mapForm.schema, printedBy: ["jobs map"] },
  { name: "job-statuses", schema: listOf(jobStatusForm), printedBy: ["logs --status"] },
  {
    name: "log-line",
    schema: logLineForm.schema,
    printedBy: ["logs", "jobs logs", "jobs pool logs", "serve logs", "api logs"],
    isLines: true,
  },
  { name: "events", schema: listOf(eventForm), printedBy: ["events"] },
  { name: "event", schema: eventForm.schema, printedBy: ["events -f"], isLines: true },
  { name: "explanation", schema: explanationForm.schema, printedBy: ["explain"] },
  { name: "contexts", schema: listOf(contextForm), printedBy: ["context list"] },
  { name: "settings", schema: listOf(settingForm), printedBy: ["config show"] },
  { name: "costs", schema: listOf(costForm), printedBy: ["cost-report"] },
  { name: "cost-groups", schema: listOf(costGroupForm), printedBy: ["cost-report --by"] },
  { name: "infra", schema: listOf(checkForm), printedBy: ["check"] },
  { name: "gpus", schema: listOf(gpuUseForm), printedBy: ["gpus status"] },
  { name: "machines", schema: listOf(machineForm), printedBy: ["gpus list"] },
  { name: "pools", schema: listOf(workerPoolForm), printedBy: ["jobs pool status"] },
  { name: "services", schema: listOf(serviceForm), printedBy: ["serve status"] },
  { name: "ssh-pools", schema: listOf(poolForm), printedBy: ["ssh status"] },
  { name: "ssh-keys", schema: listOf(keyForm), printedBy: ["ssh keys"] },
  { name: "recipes", schema: listOf(recipeForm), printedBy: ["recipes list"] },
  { name: "recipe", schema: recipeForm.schema, printedBy: ["recipes show"] },
  { name: "workspaces", schema: listOf(workspaceForm), printedBy: ["workspaces list"] },
  { name: "configuration", schema: configurationForm.schema, printedBy: ["api config show"] },
  {
    name: "configuration-versions",
    schema: listOf(configurationVersionForm),
    printedBy: ["api config history"],
  },
  { name: "requests", schema: listOf(requestForm), printedBy: ["api status"] },
  { name: "orphans", schema: listOf(orphanForm), printedBy: ["api orphans"] },
  { name: "identity", schema: identityForm.schema, printedBy: ["whoami"] },
  { name: "users", schema: listOf(userForm), printedBy: ["users list"] },
  { name: "user-import", schema: importForm.schema, printedBy: ["users import"] },
  { name: "secrets", schema: listOf(secretForm), printedBy: ["secrets list"] },
  { name: "storages", schema: listOf(storageForm), printedBy: ["storage ls"] },
  { name: "volumes", schema: listOf(volumeForm), printedBy: ["volumes ls"] },
  { name: "tokens", schema: listOf(tokenForm), printedBy: ["tokens list"] },
  { name: "new-token", schema: newTokenForm.schema, printedBy: ["tokens create", "tokens rotate"] },
  { name: "token-role", schema: roleForm.schema, printedBy: ["tokens role"] },
  { name: "audit", schema: listOf(auditForm), printedBy: ["audit"] },
  { name: "audit-entry", schema: auditForm.schema, printedBy: ["audit -o ndjson"], isLines: true },
  { name: "audit-verdict", schema: verdictForm.schema, printedBy: ["audit --verify"] },
  { name: "control-plane", schema: infoForm.schema, printedBy: ["api info"] },
  { name: "restoration", schema: restorationForm.schema, printedBy: ["api restore"] },
  { name: "download", schema: downloadForm.schema, printedBy: ["download"] },
  {
    name: "log-files",
    schema: listOf(logFileForm),
    printedBy: ["logs --sync-down", "serve logs --sync-down", "jobs download"],
  },
  { name: "version", schema: versionForm.schema, printedBy: ["version"] },
  { name: "findings", schema: listOf(findingForm), printedBy: ["doctor"] },
  {
    name: "actions",
    schema: listOf(actionForm),
    printedBy: [
      ...["launch", "exec", "start", "stop", "down", "autostop", "preempt", "cancel"],
      ...["jobs launch", "jobs cancel", "jobs pool apply", "jobs pool down"],
      ...[
        "serve up",
        "serve update",
        "serve down",
        "recipes create",
        "recipes update",
        "recipes delete",
        "recipes pin",
        "recipes unpin",
        "ssh up",
        "ssh down",
        "ssh forget",
        "api cancel",
      ],
      ...["context add", "context use", "context remove", "login", "logout"],
      ...["users create", "users update", "users delete", "tokens delete", "storage delete"],
      ...["secrets set", "secrets rm", "volumes apply", "volumes delete"],
      ...["workspaces create", "workspaces update", "workspaces delete", "workspaces use"],
      "api config set",
      ...["api start", "api stop", "agent install", "agent uninstall"],
    ],
  },
  { name: "error", schema: ErrorOutput, printedBy: ["every command that fails, on stderr"] },
];
