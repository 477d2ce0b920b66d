import { randomBytes } from "node:crypto";
import { parseAllDocuments } from "yaml";
import { fail } from "../../common/errors.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import { madeUpName } from "../arguments.ts";
import type { Command } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { agree } from "../selection.ts";
import { withSourcePositions } from "../source-positions.ts";
import { textIn } from "../task-text.ts";
import { tellCommands } from "../ways.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";
import { taskOf, withFiles } from "./launch.ts";
import { showPlan } from "./plan.ts";
import { curlOf } from "./serve-curl.ts";
import { followService, type Verdict } from "./serve-following.ts";
import { howMany, inShort } from "./serve-reasons.ts";

/** `outrigger serve up`: a service, and how to ask it. */
export const serveUp: Command<"serve up"> = async (world, operands, options) => {
  const { terminal, settings } = world;
  if (operands.length === 0) fail("UsageError", "say what to serve: outrigger serve up FILE");
  const source = await entrypointOf(world, operands);
  const task = await taskOf(world, source, options, "service");
  const name =
    options.serviceName ??
    textIn(task, "name") ??
    madeUpName(settings.userName, randomBytes(2).toString("hex"));
  if (terminal.canAsk && !options.yes)
    await withSourcePositions(source, task, async () => {
      await showPlan(world, task, null);
      refuseNoService(task);
      await agree(world, `Bring service '${name}' up?`);
    });
  const input = { ...(await withFiles(world, task, "service")), service_name: name };
  const more = { title: `Bringing ${name} up`, name, tells: tellsEndpoint, later: options.async };
  const result = await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, serveOperations.up, input, { ...more, reword }),
  );
  if (result === undefined) return 0;
  const [, endpoint] = result;
  const service = options.detach ? undefined : await untilReady(world, name);
  if (typeof service === "number") return service;
  if (service !== undefined) tellReady(world, service);
  if (!world.json) terminal.answer(endpoint);
  tellWays(world, name, curlOf(task, endpoint));
  return 0;
};

const tellsEndpoint = ([, endpoint]: readonly [string, string]) => ({ endpoint });

/** Throws `ValueError` for a task that is no service, so that nobody is asked about it. */
function refuseNoService(taskText: string): void {
  if (!parseAllDocuments(taskText).some((document) => document.has("service")))
    fail("ValueError", "the task has no `service` section; see docs/task.md");
}

const untilReady = (world: World, name: string) =>
  followService(world, { name, title: `Waiting for ${name}`, judge: judgeUp });

/** Whether a service that was brought up is ready, or will not be so soon. */
export function judgeUp(service: ServiceStatusRecord): Verdict {
  const { name, status, status_reason: reason = "" } = service;
  if (status === "READY" || status === "NO_REPLICA") return "reached";
  if (status === "FAILED" && hasNewestFailed(service))
    return {
      failed: `service ${name} is FAILED: its replicas fail one after another${lastFailure(service)}; the control plane keeps retrying with growing delays until you take it down: outrigger serve down ${name}`,
    };
  if (status === "CONTROLLER_FAILED") return { failed: `service ${name} is ${status}: ${reason}` };
  if (status === "SHUTTING_DOWN" || status === "FAILED_CLEANUP")
    return { failed: `service ${name} is being taken down` };
}

/**
 * Whether it is the newest version that fails, as a service may have been FAILED before it, and none
 * of it is on its way.
 */
function hasNewestFailed({ version, replica_info: replicas }: ServiceStatusRecord): boolean {
  const newest = replicas.filter((one) => one.version === version).map(({ status }) => status);
  const isUnderWay = newest.some((one) => /^(PENDING|PROVISIONING|STARTING)$/.test(one));
  return !isUnderWay && newest.some((one) => one.startsWith("FAILED"));
}

/** Why the newest replica that failed did, without what it printed. */
function lastFailure({ version, replica_info: replicas }: ServiceStatusRecord): string {
  const failed = replicas.filter(
    (one) => one.version === version && one.status.startsWith("FAILED") && one.status_reason,
  );
  const last = failed.toSorted((a, b) => a.replica_id - b.replica_id).at(-1);
  return last === undefined
    ? ""
    : ` (replica ${last.replica_id}: ${inShort(last.status_reason ?? "")})`;
}

function tellReady({ terminal }: World, service: ServiceStatusRecord): void {
  const { name, status, max_replicas: most } = service;
  const how =
    status === "READY"
      ? `${howMany(service)} replicas ready; the others are starting`.replace(
          /^(\d+) of \1 .*/,
          "every replica",
        )
      : most === 0
        ? "it has no replicas, as configured"
        : "scaled to zero; the next request starts a replica";
  terminal.note(`${terminal.paintNote("green", `Service ${name} ${status}`)}: ${how}`);
}

/** Says how to ask a service, and how to come back to it. */
function tellWays({ terminal }: World, name: string, curl: string): void {
  tellCommands(terminal, [
    ["ask", curl],
    ["status", `outrigger serve status ${name}`],
    ["down", `outrigger serve down ${name}`],
  ]);
}
