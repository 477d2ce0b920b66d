import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { Call } from "../bind.ts";
import { checkManagedFiles } from "../clusters/managed.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { refuseImpossible } from "../offers.ts";
import { nudge } from "../reconciler.ts";
import { admitService } from "../workspaces/admit.ts";
import { getLiveService } from "./find.ts";
import { withoutKeys } from "./keys.ts";
import { listReplicas } from "./replicas/store.ts";
import { refuseLeaving, type Service, type Version, type VersionTask } from "./schema.ts";
import { addVersion, getService, setService } from "./store.ts";
import { versionTaskOf } from "./versions/files.ts";
import {
  leastUse,
  openVersion,
  readServiceTask,
  readServiceTaskAndRemarks,
  wholeTask,
} from "./versions/task.ts";

type Input = InputOf<typeof rows.update>;

/** Has a service run another task from now on; its replicas are replaced as the mode says. */
export async function update(ctx: Context, given: Input, call: Call): Promise<null> {
  // A second attempt at the same request finds the version that the first one wrote.
  if (call.progress.serviceId !== undefined) return null;
  const service = await getLiveService(ctx, given.service_name);
  refuseLeaving(service);
  const { workspace } = service;
  const input = { ...given, task: await wholeTask(ctx, workspace, given.task, call) };
  const [open, remarks] = await readServiceTaskAndRemarks(ctx, input.task, "serve.update");
  call.print(remarks);
  await refuseOtherTls(ctx, service, open.spec.tls !== undefined);
  const offer = await refuseImpossible(ctx, open.task, workspace, call.signal);
  const asked = leastUse(open, offer);
  const task = await versionTaskOf(ctx, input, open, call);
  const next = {
    command: withoutKeys(call.command, open),
    mode: input.mode,
    because: `update by ${call.user.name}`,
  };
  let reason = "";
  await call.remember({ serviceId: service.id }, async (tx) => {
    const replicas = await listReplicas(tx, service.id);
    const clusterIds = replicas.map(({ clusterId }) => clusterId ?? "");
    await admitService(ctx, tx, { workspace, asked, clusterIds }, call);
    reason = await addNext(ctx, tx, service, next, task);
  });
  call.print(`Service ${service.name} goes to ${reason}\n`);
  void nudge(ctx, "service", service.id);
  return null;
}

/** Writes the version after the newest one; answers what there is to tell of it. */
export async function addNext(
  ctx: Ground,
  tx: Connection,
  { id: serviceId }: Service,
  next: Pick<Version, "command" | "mode" | "because">,
  task: VersionTask,
): Promise<string> {
  const now = await getService(tx, serviceId);
  refuseLeaving(now);
  const version = now.version + 1;
  const at = ctx.now();
  const row = {
    ...next,
    serviceId,
    version,
    createdAt: at.getTime(),
    readyAt: null,
    givenUp: null,
  };
  await addVersion(tx, ctx.seal, row, task);
  await setService(tx, serviceId, { version });
  const reason = `version ${version}: ${next.because} (${next.mode})`;
  await addEvent(tx, { noun: "service", id: serviceId, reason, at });
  return reason;
}

/** What the row's shapes cannot say of an update. */
export function checkUpdate({ task }: Input): void {
  checkManagedFiles(readServiceTask(task, "serve.update").task);
}

/** Clients have the address of the balancer, and with it whether it speaks TLS. */
async function refuseOtherTls(ctx: Context, service: Service, hasTls: boolean): Promise<void> {
  const { id: serviceId, name, version } = service;
  const { tls } = await openVersion(ctx, { serviceId, version });
  if ((tls !== null) === hasTls) return;
  const was = hasTls ? "does not speak TLS" : "speaks TLS";
  fail(
    "ValueError",
    `service ${name} ${was}, and an update cannot change that; create another service`,
  );
}
