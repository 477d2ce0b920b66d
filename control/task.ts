import { AppError } from "../common/errors.ts";
import { formatIssues, type TaskIssue, toValidationItems } from "../contract/task/issues.ts";
import { defaultDiskGb, type ResourceRequest } from "../contract/task/resource-request.ts";
import {
  readTask as readText,
  singleTask,
  type Task,
  type TaskDocument,
  type TaskReading,
} from "../contract/task.ts";
import type { Context } from "./context.ts";
import { asksForSpot } from "./needs.ts";
import { unservedFiles } from "./unserved-files.ts";

/**
 * The tasks of a document. Throws `InvalidTaskError` with every issue and its place, and
 * `NotSupportedError` for a task that this version cannot run.
 */
export function readDocument(text: string): TaskDocument {
  const reading = readText(text);
  if (!reading.ok)
    throw new AppError("InvalidTaskError", formatIssues(reading.issues), {
      issues: toItems(reading.issues),
    });
  refuseUnbuilt(reading);
  return reading.document;
}

/** The only task of a document, as `readDocument`; throws `NotSupportedError` for several tasks. */
export const readTask = (text: string, operation: string): Task =>
  singleTask(readDocument(text), operation);

/** As `readTask`, with the remarks on its document; `used` names fields that the operation does make use of. */
export async function readTaskAndRemarks(
  ctx: Pick<Context, "providers">,
  text: string,
  operation: string,
  used: readonly string[] = [],
): Promise<[task: Task, remarks: string]> {
  const document = readDocument(text);
  return [singleTask(document, operation), await remarksOn(ctx, document, used)];
}

/** Issues for a 422; whoever wrote the text looks for a line of it, not for a path. */
const toItems = (issues: readonly TaskIssue[]) =>
  toValidationItems(issues).map((item, at) => {
    const { line, column } = issues[at] ?? { line: 1, column: 1 };
    return { ...item, msg: `line ${line}, column ${column}: ${item.msg}` };
  });

/** The secrets of a task, readable: for those who run it alone. */
export const secretsOf = ({ secrets }: Task): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]));

/** Those of them that are variables of its jobs: not those that are files alone. */
export function secretVariablesOf(task: Task): Record<string, string> {
  const isFile = (name: string) => {
    const uses = task.managedSecrets.filter((one) => one.name === name);
    return uses.length > 0 && uses.every(({ mountPath }) => mountPath !== undefined);
  };
  return Object.fromEntries(Object.entries(secretsOf(task)).filter(([name]) => !isFile(name)));
}

/** A command line as it may be kept: the values of the task's secrets stand in many of them. */
export const withoutSecrets = (command: string, task: Task): string =>
  withoutValues(command, secretsOf(task));

/** A text as others may see it, without the values of secrets. */
export const withoutValues = (text: string, secrets: Readonly<Record<string, string>>): string =>
  Object.values(secrets)
    .filter((value) => value !== "")
    .reduce((rest, value) => rest.replaceAll(value, "[secret]"), text);

/** Remarks on a document that is accepted all the same, a line each; not on what is `used`. */
export async function remarksOn(
  ctx: Pick<Context, "providers">,
  { warnings, tasks }: TaskDocument,
  used: readonly string[] = [],
): Promise<string> {
  const asks = await Promise.all(tasks.map(({ resources }) => asksForSpot(ctx, resources)));
  const all = asks.includes(true) ? [...used, "resources.use_spot"] : used;
  const idle = tasks
    .flatMap((task) => namesIn(withoutEffect, task))
    .filter((name) => !all.includes(name));
  const named = idle.map((name) => `${name}${wayOut[name] ?? ""}`);
  const remark = `no effect here: ${named.join(", ")}\n`;
  return (
    warnings.map((warning) => `${formatIssues([warning])}\n`).join("") + (idle[0] ? remark : "")
  );
}

/** What sections are for that have no effect. */
const wayOut: Readonly<Record<string, string>> = {
  service: " (bring it up with `outrigger serve up`)",
  pool: " (apply it with `outrigger jobs pool apply`)",
  "the name of a pool": " (run it there with `outrigger jobs launch`)",
};

/** Fields of a task, each with whether a task makes use of it. */
type Uses = Readonly<Record<string, (task: Task, candidate: ResourceRequest) => boolean>>;

const isFilled = (value: object | undefined): boolean =>
  value !== undefined && Object.keys(value).length > 0;

/** Whether a task says this of its pods. */
const sets =
  (key: string) =>
  ({ config: { kubernetes = {} } }: Task): boolean =>
    Object.hasOwn(kubernetes, key);

/** What nothing here does yet and a task could not run right without: refused. */
const unbuilt: Uses = {
  "volumes with `host_path` (register the folder with `outrigger volumes apply`)": ({ volumes }) =>
    Object.values(volumes).some(({ kind }) => kind === "host"),
  "volumes with `size` (create one with `outrigger volumes apply`)": ({ volumes }) =>
    Object.values(volumes).some(({ kind }) => kind === "ephemeral"),
  "resources.image_id (other than `docker:IMAGE`)": (_, { image }) =>
    image !== undefined && image.kind !== "container",
  "resources.instance_type": (_, { instanceType }) => instanceType !== undefined,
  "resources.volumes": (_, { networkDisks }) => isFilled(networkDisks),
};

/** What makes no difference to a job on a machine of ours: said, and left at that. */
const withoutEffect: Uses = {
  service: ({ service }) => service !== undefined,
  pool: ({ pool }) => pool !== undefined,
  "the name of a pool": ({ inPool }) => inPool !== undefined,
  "service.replica_policy.spot_placer": ({ service }) => service?.replicas.spotPlacer !== undefined,
  event_callback: ({ eventCallback }) => eventCallback !== undefined,
  config: ({ config: { docker: _, slurm: __, kubernetes: ___, ...others } }) => isFilled(others),
  "config.kubernetes.dws": sets("dws"),
  "config.kubernetes.remote_identity": sets("remote_identity"),
  "config.kubernetes.enable_docker": sets("enable_docker"),
  "resources.use_spot": (_, { useSpot }) => useSpot,
  "resources.job_recovery": ({ resources }) => resources.jobRecovery !== undefined,
  "resources.local_disk": (_, { localDisk }) => localDisk !== undefined,
  "resources.disk_size": (_, { diskGb }) => diskGb !== defaultDiskGb,
  "resources.disk_tier": (_, { diskTier }) => diskTier !== "medium",
  "resources.network_tier": (_, { networkTier }) => networkTier !== "standard",
  "resources.ephemeral_storage": (_, { ephemeralStorageGb, cloud = "kubernetes" }) =>
    ephemeralStorageGb !== undefined && cloud !== "kubernetes",
  "resources.accelerator_args": (_, { acceleratorArgs }) => acceleratorArgs !== undefined,
};

const namesIn = (uses: Uses, task: Task): string[] =>
  Object.entries(uses)
    .filter(([, use]) => task.resources.candidates.some((candidate) => use(task, candidate)))
    .map(([name]) => name);

/** Throws `NotSupportedError` for what this version cannot serve, each with its place in the document. */
function refuseUnbuilt({ document, issueAt }: Extract<TaskReading, { ok: true }>): void {
  const issues = document.tasks.flatMap((task, at) => [
    ...unservedFiles(task).map(({ path, why }) => issueAt(at, path, why)),
    ...namesIn(unbuilt, task).map((name) => {
      const [, path = name, how = ""] = /^(\S+)( .*)?$/.exec(name) ?? [];
      const why = "and the task could not run correctly without it";
      return issueAt(at, path.split("."), `this version does not support it${how} yet, ${why}`);
    }),
  ]);
  if (issues.length > 0)
    throw new AppError("NotSupportedError", formatIssues(issues), { issues: toItems(issues) });
}
