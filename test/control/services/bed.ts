import assert from "node:assert/strict";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { ServiceStatusRecord } from "../../../contract/records/services.ts";
import type { ReplicaStatus, ServiceStatus } from "../../../contract/statuses.ts";
import { listEvents } from "../../../control/events.ts";
import { nudge } from "../../../control/reconciler.ts";
import { findNumber, listReplicas } from "../../../control/services/replicas/store.ts";
import type { Replica, Service } from "../../../control/services/schema.ts";
import { listLiveServices } from "../../../control/services/store.ts";
import { until } from "../../helpers/agent.ts";
import {
  type FakeBalancers,
  type FakeBalancersOptions,
  openFakeBalancers,
} from "../../helpers/fake-balancers.ts";
import type { FakeJob } from "../../helpers/fake-node.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

/** The document of a service with two replicas; `more` adds to its `service` section. */
export const aTask = (more = "", rest = ""): string => `
name: chat
resources: {ports: 8080}
service:
  readiness_probe: /health
  replicas: 2
${more}
run: serve
${rest}
`;

/** A control plane with services whose balancers say what a test says. */
export interface ServiceBed {
  readonly world: World;
  readonly balancers: FakeBalancers;
  /** The newest live service. */
  service(): Promise<Service>;
  record(): Promise<ServiceStatusRecord>;
  replica(number: number): Promise<Replica>;
  untilReplica(number: number, ...statuses: ReplicaStatus[]): Promise<Replica>;
  untilReady(...numbers: number[]): Promise<void>;
  untilService(status: ServiceStatus): Promise<Service>;
  /** Has everything looked at, now. */
  look(): Promise<void>;
  /** The job that a replica runs. */
  job(number: number): Promise<FakeJob>;
  events(): Promise<string[]>;
  /** The same after control was killed. */
  crash(): Promise<ServiceBed>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Opens one in which every replica is ready once it is asked, unless a test says otherwise. */
export async function serviceBed(
  t: Cleaner,
  { usually = { readiness: "ready" }, ...options }: WorldOptions & FakeBalancersOptions = {},
): Promise<ServiceBed> {
  const balancers = openFakeBalancers({ usually });
  return bedOf(await testWorld(t, { ...options, balancers }), balancers);
}

/** As `serviceBed`, with a service that is up. */
export async function withService(
  t: Cleaner,
  task = aTask(),
  options?: WorldOptions & FakeBalancersOptions,
): Promise<ServiceBed> {
  const bed = await serviceBed(t, options);
  await bed.world.run(rows.up, { task, service_name: "chat" });
  return bed;
}

function bedOf(world: World, balancers: FakeBalancers): ServiceBed {
  const { ctx, provider } = world;
  const bed: ServiceBed = {
    ...{ world, balancers },
    async service() {
      const [service] = await listLiveServices(ctx.db);
      return service ?? assert.fail("there is no service");
    },
    async record() {
      const [record] = await world.run(rows.status, { service_names: null });
      return record ?? assert.fail("there is no service");
    },
    async replica(number) {
      const { id } = await bed.service();
      return (await findNumber(ctx.db, id, number)) ?? assert.fail(`there is no replica ${number}`);
    },
    async untilReplica(number, ...statuses) {
      const { id } = await bed.service();
      return until(async () => {
        const replica = await findNumber(ctx.db, id, number);
        return replica !== undefined && statuses.includes(replica.status) ? replica : undefined;
      });
    },
    async untilReady(...numbers) {
      for (const number of numbers) await bed.untilReplica(number, "READY");
    },
    untilService: (status) =>
      until(async () => (await listLiveServices(ctx.db)).find((one) => one.status === status)),
    async look() {
      const { id } = await bed.service();
      await nudge(ctx, "service", id);
      for (const one of await listReplicas(ctx.db, id)) await nudge(ctx, "replica", one.id);
      await nudge(ctx, "service", id);
    },
    async job(number) {
      const { clusterId, jobId } = await bed.replica(number);
      const { jobs } = provider.agentOf(clusterId ?? "").node;
      return jobs.find(({ id }) => id === jobId) ?? assert.fail(`replica ${number} has no job`);
    },
    async events() {
      const { id } = await bed.service();
      const events = await listEvents(ctx.db, "service", id, { kinds: ["remarks"], limit: 100 });
      return events.map(({ reason }) => reason);
    },
    crash: async () => bedOf(await world.crash(), balancers),
  };
  return bed;
}
