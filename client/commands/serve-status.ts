import { fail } from "../../common/errors.ts";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import type { OptionsOf } from "../catalog.ts";
import { serviceForm, workerPoolForm } from "../output/services.ts";
import type { Form } from "../output/shapes.ts";
import { type Column, duration, styleOfStatus } from "../rendering.ts";
import { requireAll, sayNone } from "../selection.ts";
import { pools, type ServiceKind, services } from "../services.ts";
import type { World } from "../world.ts";
import { answerRows } from "./answers.ts";
import { readyOutOfLive, tellReasons } from "./serve-reasons.ts";
import { watchable } from "./watch.ts";

type ServiceColumn = Column<ServiceStatusRecord>;
type MemberColumn = Column<ReplicaInfo & { readonly service: string }>;

/** What differs between the tables of services and those of pools. */
interface Tables {
  readonly kind: ServiceKind;
  readonly form: Form<ServiceStatusRecord>;
  readonly none: string;
  readonly members: string;
  /** Columns of their own: of the services, of them with -v, and of their replicas. */
  readonly columns: readonly ServiceColumn[];
  readonly more: readonly ServiceColumn[];
  readonly memberColumns: readonly MemberColumn[];
}

const resources: ServiceColumn = { title: "RESOURCES", text: (row) => row.requested_resources_str };
const whySoMany: ServiceColumn = { title: "WHY SO MANY", text: (row) => row.target_reason ?? "-" };

const ofServices: Tables = {
  kind: services,
  form: serviceForm,
  none: "No services. Start one: outrigger serve up FILE",
  members: "REPLICAS",
  columns: [{ title: "ENDPOINT", text: (row) => row.endpoint ?? "-" }],
  more: [
    { title: "BALANCING", text: (row) => row.load_balancing_policy ?? "-" },
    resources,
    // Why there are so many has a column of its own.
    { title: "POLICY", text: (row) => row.policy?.replace(/; \d+ now: .*/s, "") ?? "-" },
    whySoMany,
  ],
  memberColumns: [{ title: "ENDPOINT", text: (row) => row.endpoint ?? "-", spare: true }],
};

const ofPools: Tables = {
  kind: pools,
  form: workerPoolForm,
  none: "No pools. Create one: outrigger jobs pool apply FILE",
  members: "WORKERS",
  columns: [],
  more: [resources, whySoMany],
  memberColumns: [{ title: "JOBS", text: ({ used_by: jobs = [] }) => jobs.join(", ") || "-" }],
};

/** `outrigger serve status`. */
export const serveStatus = watchable({}, showIn(ofServices));

/** `outrigger jobs pool status`. */
export const poolStatus = watchable({}, showIn(ofPools));

function showIn(tables: Tables) {
  const { kind, form, none } = tables;
  return async (world: World, names: readonly string[], options: OptionsOf<"serve status">) => {
    const found = await kind.list(await world.connect(), names);
    await requireAll(world, names, found, kind);
    if (options.endpoint) return answerEndpoint(world, found);
    const isWhole = options.verbose ?? false;
    const empty = sayNone(names, none, kind.noun);
    const shown = { isWhole, whole: "-v", empty } as const;
    const columns = columnsOf(tables, world.now(), isWhole);
    answerRows(world, options, { form, rows: found, columns, ...shown });
    if (world.json) return;
    const rows = found.flatMap(membersOf);
    if (rows.length > 0) {
      world.terminal.answer("");
      const members = memberColumnsOf(tables, world.now(), isWhole);
      answerRows(world, {}, { form: null, rows, columns: members, ...shown });
    }
    const reasons = tellReasons(found);
    if (reasons.length > 0) world.terminal.answer(`\n${reasons.join("\n")}`);
  };
}

function answerEndpoint({ terminal }: World, found: readonly ServiceStatusRecord[]): undefined {
  const [service] = found;
  if (service === undefined || found.length > 1)
    fail("UsageError", "--endpoint takes the name of one service");
  terminal.answer(service.endpoint ?? fail("NotFoundError", `${service.name} has no address`));
}

const membersOf = ({ name, replica_info: replicas }: ServiceStatusRecord) =>
  replicas
    .toSorted((a, b) => a.replica_id - b.replica_id)
    .map((replica) => ({ ...replica, service: name }));

/** Since an instant in seconds; `-` when there is none. */
const since = (seconds: number | null, now: Date): string =>
  seconds === null ? "-" : duration(Math.max(0, now.getTime() / 1000 - seconds));

const columnsOf = ({ members, columns, more }: Tables, now: Date, isWhole: boolean) => [
  ...([
    { title: "NAME", text: (row) => row.name, least: 16 },
    { title: "VERSION", text: versionsOf, right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: members, text: (row) => readyOutOfLive(row), right: true },
    ...columns,
    { title: "UPTIME", text: (row) => since(row.uptime, now), spare: true },
  ] satisfies ServiceColumn[]),
  ...(isWhole ? more : []),
];

/** The newest version that was not given up; while others serve, from which it goes there: `1→2`. */
function versionsOf(service: ServiceStatusRecord): string {
  const { version, active_versions: active, given_up: givenUp } = service;
  const others = active.filter((one) => one !== version).join(", ");
  if (others === "") return String(version);
  return givenUp ? others : `${others}→${version}`;
}

function memberColumnsOf({ kind, memberColumns }: Tables, now: Date, isWhole: boolean) {
  const cluster: MemberColumn = { title: "CLUSTER", text: (row) => row.name };
  const columns: MemberColumn[] = [
    { title: kind.noun.toUpperCase(), text: (row) => row.service, least: 16 },
    { title: "ID", text: (row) => String(row.replica_id), right: true },
    { title: "VERSION", text: (row) => String(row.version), right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    ...memberColumns,
    { title: "AGE", text: (row) => since(row.launched_at, now), spare: true },
  ];
  return isWhole ? [...columns, cluster] : columns;
}
