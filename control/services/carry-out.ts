import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { SeenReplica } from "../../contract/balancer-api.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { listHeld, listQueued } from "../jobs/work-store.ts";
import { askedOfReplica, asksForSpot } from "../needs.ts";
import { isOffered } from "../offers.ts";
import { nudge } from "../reconciler.ts";
import { want } from "../want.ts";
import { need } from "./balancing/need.ts";
import { balancerPlanOf } from "./balancing/plan.ts";
import { type Decision, isLive, planService } from "./decisions/plan.ts";
import { capacityOf, scale } from "./decisions/scale.ts";
import type { Start } from "./decisions/schema.ts";
import { moveService } from "./move.ts";
import { addReplica, nextNumber, setReplica } from "./replicas/store.ts";
import {
  drainMs,
  isOpen,
  type Replica,
  replicaName,
  type Scaling,
  type Service,
  wordsOf,
} from "./schema.ts";
import type { State } from "./state.ts";
import { setService, setVersion } from "./store.ts";

/** Decides what a service should have, writes that down, and tells the balancer. */
export async function carryOut(ctx: Context, state: State, signal: AbortSignal): Promise<void> {
  const { service, versions, replicas, spec } = state;
  const now = ctx.now().getTime();
  const held = service.isPool ? await listHeld(ctx.db, service.id) : [];
  const busy = new Set(held.map(({ clusterId }) => clusterId));
  const scaling = await scalingOf(ctx, state, busy.size, now);
  const { replicas: policy, update } = spec.spec;
  const seen = ctx.balancers.seen(service.id);
  const usesSpot = await asksForSpot(ctx, spec.task.resources);
  const decision = planService({
    ...{ service: { scaling }, versions, replicas, now },
    ...(seen && { answering: new Set(seen.replicas.filter(isReady).map(({ id }) => id)) }),
    ...{ busy, hasMachines: await hasMachines(ctx, state, usesSpot, signal) },
    spec: { policy, update, usesSpot },
  });
  const started = await write(ctx, state, scaling, decision, now);
  for (const { id } of started) void nudge(ctx, "replica", id);
  if (!service.isPool) await tellBalancer(ctx, state, decision, signal);
  if (service.problem !== null)
    await ctx.batch((tx) => setService(tx, service.id, { problem: null }));
  await moveService(ctx, service, decision.status, decision.reason);
  // What drains may be done by what the balancer has told since.
  const leaving = replicas.filter((one) => isOpen(one) && !isLive(one));
  const left = decision.leave.map(({ replica }) => replica);
  for (const { id } of [...leaving, ...left]) void nudge(ctx, "replica", id);
}

const isReady = ({ readiness }: SeenReplica): boolean => readiness === "ready";

async function tellBalancer(
  ctx: Context,
  { service, replicas, opened: versions, spec: goal }: State,
  { roles }: Decision,
  signal: AbortSignal,
): Promise<void> {
  const plan = balancerPlanOf(replicas, roles, { goal, versions });
  await need(ctx, service, ctx.balancers.plan(service, plan, signal), signal);
}

/** Whether there is a machine by now where there was none; nothing is looked for before that. */
async function hasMachines(
  ctx: Context,
  { service, replicas, goal, spec: { task } }: State,
  usesSpot: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  if (!replicas.some((one) => one.version === goal.version && one.isUnplaced)) return false;
  const asked = askedOfReplica(task, service.workspace, usesSpot ? false : undefined);
  return isOffered(ctx, asked, signal);
}

async function scalingOf(
  ctx: Context,
  { service, spec, replicas }: State,
  busy: number,
  now: number,
): Promise<Scaling> {
  const policy = spec.spec.replicas;
  if (service.isPool) {
    const jobs = { busy, waiting: (await listQueued(ctx.db, service.id)).length };
    const demand = { arrivals: [], open: 0, capacities: [], jobs, watchedSince: 0 };
    return scale(policy, service.scaling, demand, now);
  }
  const seen = ctx.balancers.seen(service.id);
  const demand = {
    arrivals: seen?.arrivals ?? [],
    open: seen?.open ?? 0,
    capacities: replicas.filter(isLive).map(({ accelerators }) => capacityOf(policy, accelerators)),
    watchedSince: ctx.balancers.backAt() ?? now,
  };
  // Nobody knows the demand while the balancer is not heard.
  return seen === undefined ? service.scaling : scale(policy, service.scaling, demand, now);
}

/** Writes a decision in one transaction, and tells of it; answers the replicas that it adds. */
async function write(
  ctx: Ground,
  { service }: State,
  scaling: Scaling,
  decision: Decision,
  now: number,
): Promise<Replica[]> {
  const { start, leave, giveUp } = decision;
  const isScaled = !isDeepStrictEqual(scaling, service.scaling);
  if (!isScaled && giveUp === undefined && start.length + leave.length === 0) return [];
  const { member } = wordsOf(service);
  const news = [...scalingNews(service.scaling, scaling), ...leavingNews(decision, member)];
  return ctx.batch(async (tx) => {
    if (isScaled) await setService(tx, service.id, { scaling });
    if (giveUp !== undefined) await giveUpVersion(tx, service, giveUp);
    for (const { replica, because } of leave) {
      await want(tx, "replica", replica.id, { wanted: "GONE", because });
      await setReplica(tx, replica.id, { drainUntil: now + drainMs });
    }
    const first = await nextNumber(tx, service.id);
    const added = start.map((one, at) => newReplica(service, first + at, one, now));
    for (const replica of added) await addReplica(tx, replica);
    const lines = [
      ...news,
      ...added.map((one) => `${member} ${one.number} is added: ${one.wantedBecause}`),
    ];
    for (const reason of lines)
      await addEvent(tx, { noun: "service", id: service.id, reason, at: ctx.now() });
    return added;
  });
}

const scalingNews = (before: Scaling, after: Scaling): string[] =>
  before.target === after.target
    ? []
    : [`target: ${before.target} → ${after.target}: ${after.reason}`];

const leavingNews = ({ giveUp, leave }: Decision, member: string): string[] => [
  ...(giveUp === undefined ? [] : [`version ${giveUp.version} is given up: ${giveUp.because}`]),
  ...leave.map(({ replica, because }) => `${member} ${replica.number} is removed: ${because}`),
];

const giveUpVersion = (
  tx: Connection,
  { id: serviceId }: Service,
  { version, because: givenUp }: NonNullable<Decision["giveUp"]>,
): Promise<void> => setVersion(tx, { serviceId, version }, { givenUp });

const newReplica = (service: Service, number: number, start: Start, now: number): Replica => ({
  id: randomBytes(6).toString("hex"),
  serviceId: service.id,
  number,
  version: start.version,
  status: "PENDING",
  reason: start.because,
  wanted: "UP",
  wantedBecause: start.because,
  isSpot: start.isSpot,
  accelerators: null,
  clusterId: null,
  clusterName: replicaName(service, number),
  isUnplaced: false,
  jobId: null,
  host: null,
  port: null,
  serverPort: null,
  listenPort: null,
  runAt: null,
  readyAt: null,
  drainUntil: null,
  createdAt: now,
  statusChangedAt: now,
  endedAt: null,
});
