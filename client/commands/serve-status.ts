import { fail } from "../../common/errors.ts";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { serviceForm } from "../output/services.ts";
import { type Column, duration, styleOfStatus } from "../rendering.ts";
import { requireAll, sayNone } from "../selection.ts";
import { listServices, services } from "../services.ts";
import type { Run, World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";
import { readyOutOfLive, tellReasons } from "./serve-reasons.ts";
import { watch } from "./watch.ts";

interface StatusOptions extends OutputOptions {
  readonly verbose?: boolean;
  readonly endpoint?: boolean;
  readonly watch?: boolean;
}

/** `outrigger serve status`. */
export const serveStatus: Run<StatusOptions> = (world, names, options) =>
  options.watch
    ? watch(world, {}, (page) => showServices(page, names, options))
    : showServices(world, names, options);

async function showServices(
  world: World,
  names: readonly string[],
  options: StatusOptions,
): Promise<undefined> {
  const found = await listServices(await world.connect(), names);
  await requireAll(world, names, found, services);
  if (options.endpoint) return answerEndpoint(world, found);
  const isWhole = options.verbose ?? false;
  const empty = sayNone(names, "No services. Start one: outrigger serve up FILE", "service");
  const columns = serviceColumns(world.now(), isWhole);
  answerRows(world, options, {
    form: serviceForm,
    rows: found,
    columns,
    isWhole,
    whole: "-v",
    empty,
  });
  if (world.json) return;
  const rows = found.flatMap(replicasOf);
  if (rows.length > 0) {
    world.terminal.answer("");
    answerRows(
      world,
      {},
      { form: null, rows, columns: replicaColumns(world.now(), isWhole), isWhole, empty },
    );
  }
  const reasons = tellReasons(found);
  if (reasons.length > 0) world.terminal.answer(`\n${reasons.join("\n")}`);
}

function answerEndpoint({ terminal }: World, found: readonly ServiceStatusRecord[]): undefined {
  const [service] = found;
  if (service === undefined || found.length > 1)
    fail("UsageError", "--endpoint takes the name of one service");
  terminal.answer(service.endpoint ?? fail("NotFoundError", `${service.name} has no address`));
}

type ReplicaRow = ReplicaInfo & { readonly service: string };

const replicasOf = ({ name, replica_info: replicas }: ServiceStatusRecord): ReplicaRow[] =>
  replicas
    .toSorted((a, b) => a.replica_id - b.replica_id)
    .map((replica) => ({ ...replica, service: name }));

/** Since an instant in seconds; `-` when there is none. */
export const since = (seconds: number | null, now: Date): string =>
  seconds === null ? "-" : duration(Math.max(0, now.getTime() / 1000 - seconds));

function serviceColumns(now: Date, isWhole: boolean): Column<ServiceStatusRecord>[] {
  const more: Column<ServiceStatusRecord>[] = [
    { title: "BALANCING", text: (row) => row.load_balancing_policy ?? "-" },
    { title: "RESOURCES", text: (row) => row.requested_resources_str },
    // Why there are so many has a column of its own.
    { title: "POLICY", text: (row) => row.policy?.replace(/; \d+ now: .*/s, "") ?? "-" },
    { title: "WHY SO MANY", text: (row) => row.target_reason ?? "-" },
  ];
  return [
    { title: "NAME", text: (row) => row.name, least: 16 },
    { title: "VERSION", text: versionsOf, right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "REPLICAS", text: (row) => readyOutOfLive(row), right: true },
    { title: "ENDPOINT", text: (row) => row.endpoint ?? "-" },
    { title: "UPTIME", text: (row) => since(row.uptime, now), spare: true },
    ...(isWhole ? more : []),
  ];
}

/** The newest version that was not given up; while others serve, from which it goes there: `1→2`. */
export function versionsOf(service: ServiceStatusRecord): string {
  const { version, active_versions: active, given_up: givenUp } = service;
  const others = active.filter((one) => one !== version).join(", ");
  if (others === "") return String(version);
  return givenUp ? others : `${others}→${version}`;
}

function replicaColumns(now: Date, isWhole: boolean): Column<ReplicaRow>[] {
  return [
    { title: "SERVICE", text: (row) => row.service, least: 16 },
    { title: "ID", text: (row) => String(row.replica_id), right: true },
    { title: "VERSION", text: (row) => String(row.version), right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "ENDPOINT", text: (row) => row.endpoint ?? "-", spare: true },
    { title: "AGE", text: (row) => since(row.launched_at, now), spare: true },
    ...(isWhole ? [{ title: "CLUSTER", text: (row: ReplicaRow) => row.name }] : []),
  ];
}
