import {
  type GivenInputOf,
  isStored,
  type Operation,
  type OutputOf,
  toHttpCall,
} from "../../../common/operation.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import type { Account } from "../../../control/users/schema.ts";
import { wireError } from "../../helpers/http-client.ts";
import { addCaller } from "../../helpers/users.ts";
import { testWorld, type World } from "../../helpers/world.ts";

/** A user who calls. */
export interface Person {
  run<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<OutputOf<Op>>;
  /** Launches a cluster that stops after 10 idle minutes, in a workspace. */
  launch(
    name: string,
    workspace?: string,
    more?: Partial<GivenInputOf<typeof clusters.launch>>,
  ): Promise<unknown>;
}

type Cleaner = Parameters<typeof testWorld>[0];

/** A control plane with logins, its administrator, and how to get other people. */
export async function workspaceBed(t: Cleaner) {
  const world = await testWorld(t, { config: { login: ["token"] } });
  const person = async (name: string, more: Partial<Account> = {}) =>
    personOf(world, await addCaller(world.ctx, { name, ...more }));
  const admin = await person("root", { role: "admin" });
  const create = (workspace_name: string, config: Record<string, unknown> = {}) =>
    admin.run(rows.create, { workspace_name, config });
  return { world, person, admin, create };
}

function personOf(world: World, headers: Record<string, string>): Person {
  const person: Person = {
    async run(row, input) {
      const { method, path, body } = toHttpCall(row, input as never);
      const answer = await world.http(method, path, { headers, ...(body && { body }) });
      if (!isStored(row) || answer.status !== 200) return given(answer) as never;
      const id = answer.headers["x-outrigger-request-id"];
      const { json } = await world.http("GET", `/api/get?request_id=${id}`, { headers });
      const error = JSON.parse(String(json["error"]));
      if (error !== null) throw wireError(error.type, error.message);
      return JSON.parse(String(json["return_value"]));
    },
    launch: (cluster_name, workspace, more = {}) =>
      person.run(clusters.launch, {
        task: "run: 'true'",
        cluster_name,
        idle_minutes_to_autostop: 10,
        ...(workspace && { override_outrigger_config: { active_workspace: workspace } }),
        ...more,
      }),
  };
  return person;
}

function given({ status, json }: Awaited<ReturnType<World["http"]>>): unknown {
  if (status === 200) return json;
  throw wireError(String(status), JSON.stringify(json));
}
