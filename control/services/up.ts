import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { serveOperations as rows } from "../../contract/operations/serve.ts";
import { serviceMachine } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import { checkManagedFiles } from "../clusters/managed.ts";
import { isClusterName } from "../clusters/schema.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { refuseImpossible } from "../offers.ts";
import { nudge } from "../reconciler.ts";
import { admitService } from "../workspaces/admit.ts";
import { firstScaling } from "./decisions/scale.ts";
import { withoutKeys } from "./keys.ts";
import { firstFreePort, inTurn, isUnused } from "./replicas/free-port.ts";
import { type Service, serviceKey, type Version, wordsOf } from "./schema.ts";
import {
  addService,
  addVersion,
  findLiveService,
  findService,
  getService,
  listLiveServices,
} from "./store.ts";
import { versionTaskOf } from "./versions/files.ts";
import {
  leastUse,
  type OpenVersion,
  readServiceTask,
  readServiceTaskAndRemarks,
  type ServiceTask,
  wholeTask,
} from "./versions/task.ts";
import { endpointOf } from "./view.ts";

type Input = InputOf<typeof rows.up>;

/** Brings a service up; answers its name and address once its balancer listens. */
export async function up(ctx: Context, given: Input, call: Call): Promise<[string, string]> {
  const input = { ...given, task: await wholeTask(ctx, call.workspace, given.task, call) };
  const [open, remarks] = await readServiceTaskAndRemarks(ctx, input.task, "serve.up");
  call.print(remarks);
  const id = call.progress.serviceId ?? randomBytes(6).toString("hex");
  await call.remember({ serviceId: id });
  const known = await findService(ctx.db, id);
  if (known === undefined) await add(ctx, id, input, open, call);
  void nudge(ctx, "service", id);
  const service = await call.aside(untilListening(ctx, id, call));
  const endpoint = endpointOf(service, open.spec.tls !== undefined);
  call.print(`Service ${service.name} listens at ${endpoint}; ${beginningOf(open)}.\n`);
  return [service.name, endpoint];
}

function beginningOf({ spec: { replicas } }: Pick<OpenVersion, "spec">): string {
  if (replicas.max === 0) return "it has no replicas, as configured";
  if (replicas.min === 0) return "it starts a replica on the first request";
  return "its replicas are being brought up";
}

/** What the row's shapes cannot say of a service. */
export function checkUp(input: Input): void {
  checkName(input.service_name, "service");
  checkManagedFiles(readServiceTask(input.task, "serve.up").task);
}

/** Throws `ValueError` for a text that cannot name a service or a pool. */
export function checkName(name: string, noun: string): void {
  if (!isClusterName(name))
    fail("ValueError", `${JSON.stringify(name)} cannot name a ${noun}: ${nameRule}`);
}

const nameRule =
  "begin with a letter, end with a letter or digit, use letters, digits, - _ and . in between";

async function add(
  ctx: Context,
  id: string,
  input: Input,
  open: ServiceTask,
  call: Call,
): Promise<void> {
  const { service_name: name } = input;
  const live = await findLiveService(ctx.db, name);
  if (live !== undefined) refuseTaken(live);
  const offer = await refuseImpossible(ctx, open.task, call.workspace, call.signal);
  const asked = leastUse(open, offer);
  const task = await versionTaskOf(ctx, input, open, call);
  const version = firstVersion(ctx, id, open, call);
  const isAdded = await inTurn(ctx, async () => {
    const place = { host: ctx.config.host, port: await freePort(ctx) };
    const service = newService(ctx, { id, name, isPool: false, ...place }, open, call);
    return ctx.batch(async (tx) => {
      const isNew = await addService(tx, service);
      if (isNew) await admitService(ctx, tx, { ...service, asked, clusterIds: [] }, call);
      if (isNew) await addVersion(tx, ctx.seal, version, task);
      return isNew;
    });
  });
  if (!isAdded) refuseTaken({ name, isPool: false });
}

const refuseTaken = (live: Pick<Service, "name" | "isPool">): never =>
  fail(
    "ConflictError",
    `there is a ${wordsOf(live).noun} ${live.name}; update it, or take it down first`,
  );

/** The first version of a service or a pool. */
export const firstVersion = (
  ctx: Ground,
  serviceId: string,
  open: ServiceTask,
  call: Call,
): Version => ({
  serviceId,
  version: 1,
  command: withoutKeys(call.command, open),
  mode: "rolling",
  because: `up by ${call.user.name}`,
  createdAt: ctx.now().getTime(),
  readyAt: null,
  givenUp: null,
});

/** A service or a pool that is to be up. */
export function newService(
  ctx: Ground,
  own: Pick<Service, "id" | "name" | "isPool" | "host" | "port">,
  { spec }: Pick<OpenVersion, "spec">,
  call: Call,
): Service {
  const now = ctx.now().getTime();
  return {
    ...own,
    status: serviceMachine.initial,
    reason: own.isPool ? "it is new" : "its balancer is being started",
    wanted: "UP",
    wantedBecause: `up by ${call.user.name}`,
    user: call.user,
    workspace: call.workspace,
    version: 1,
    scaling: firstScaling(spec.replicas),
    problem: null,
    readyAt: null,
    createdAt: now,
    statusChangedAt: now,
  };
}

/** A port that no service has, and nobody listens on. */
async function freePort({ config, db }: Ground): Promise<number> {
  const taken = new Set((await listLiveServices(db)).map(({ port }) => port));
  return firstFreePort(
    config.balancerPorts,
    async (port) => !taken.has(port) && isUnused(port, config.host),
  );
}

async function untilListening(ctx: Ground, id: string, call: Call): Promise<Service> {
  const look = async () => {
    const service = await getService(ctx.db, id);
    if (service.wanted === "GONE")
      fail(
        "ConflictError",
        `service ${service.name} is being taken down (${service.wantedBecause})`,
      );
    if (service.status === "CONTROLLER_FAILED")
      fail("RuntimeError", service.problem?.message ?? "the balancer does not start");
    return service.status === "CONTROLLER_INIT" ? undefined : service;
  };
  return ctx.changes.until(serviceKey(id), look, call.signal);
}
