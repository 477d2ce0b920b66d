import { AppError, fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { EventRecord } from "../../contract/records/events.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { interruptedExit } from "../declined.ts";
import { eventForm, eventOfLine } from "../output/jobs.ts";
import { type Column, localTime } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerJson, answerRows, pick } from "./answers.ts";

interface EventRow {
  readonly reason: string;
  readonly transitioned_at: number;
}

const columns: readonly Column<EventRow>[] = [
  { title: "WHEN", text: ({ transitioned_at: at }) => localTime(at), style: () => "dim" },
  { title: "WHAT", text: ({ reason }) => reason, least: 12, wraps: true },
];

/** `outrigger events`. */
export const events: Command<"events"> = async (world, [cluster], options) => {
  if (options.follow) return followEvents(world, cluster, options);
  if (cluster === undefined) fail("UsageError", "name the cluster: outrigger events CLUSTER");
  const { limit, debug = false } = options;
  const types = debug ? (["DEBUG", "STATUS_CHANGE"] as const) : (["NOTEWORTHY"] as const);
  const found = await Promise.all(types.map((type) => listEvents(world, cluster, type, limit)));
  const all = found.flat().toSorted((a, b) => a.transitioned_at - b.transitioned_at);
  const rows = limit === undefined ? all : all.slice(-limit);
  if (world.json) {
    const found = rows.map(({ reason, transitioned_at: at }) => eventOfLine(cluster, reason, at));
    return answerJson(world, options, eventForm, found);
  }
  answerRows(world, options, {
    form: null,
    rows,
    columns,
    empty: `Nothing happened to ${cluster} yet.`,
  });
};

/** As `tail -f` begins. */
const usualTail = 10;

/** Shows events as they come until Ctrl-C; without a cluster those of all, from now on. */
async function followEvents(
  world: World,
  cluster: string | undefined,
  { limit, debug = false, fields }: OptionsOf<"events">,
): Promise<number> {
  if (cluster !== undefined) await listEvents(world, cluster, "STATUS_CHANGE", 1);
  const client = await world.connect();
  const of = cluster === undefined ? {} : { name: cluster, noun: "cluster" as const };
  const tail = limit ?? (cluster === undefined ? 0 : usualTail);
  try {
    for await (const event of client.events({ ...of, tail, noteworthy: String(!debug) }))
      world.terminal.answer(
        world.json
          ? JSON.stringify(pick(eventForm, event, fields))
          : lineOf(world, event, cluster === undefined),
      );
  } catch (error) {
    if (!world.signal.aborted) throw error;
  }
  return interruptedExit;
}

function lineOf({ terminal }: World, event: EventRecord, isNamed: boolean): string {
  const { noun, name, replica, job_id: jobId, from, to, reason, at } = event;
  const subject = [eventSubjects[noun], name ?? "?"];
  const parts = [...numbered("replica", replica), ...numbered("job", jobId)];
  const named = isNamed ? [...subject, ...parts] : [];
  const what = to === null ? reason : `${from} → ${to}: ${reason}`;
  return [terminal.paint("dim", localTime(at)), named.join(" "), what].filter(Boolean).join("  ");
}

const eventSubjects: Readonly<Record<EventRecord["noun"], string>> = {
  ...{ cluster: "cluster", service: "service", replica: "service", managed_job: "managed" },
};

const numbered = (word: string, number: number | null | undefined): (string | number)[] =>
  number === null || number === undefined ? [] : [word, number];

async function listEvents(
  world: World,
  cluster: string,
  event_type: "STATUS_CHANGE" | "DEBUG" | "NOTEWORTHY",
  limit: number | undefined,
): Promise<EventRow[]> {
  const client = await world.connect();
  const how = { include_timestamps: true, limit: limit ?? null };
  const input = { cluster_name: cluster, event_type, ...how };
  const found = await client
    .callAndGet(clusterOperations.clusterEvents, input)
    .catch((error: unknown) => {
      // Of what we send nothing but the name can be wrong.
      if (!(error instanceof AppError) || error.type !== "ValueError") throw error;
      throw new AppError("ClusterDoesNotExist", error.message, {}, error);
    });
  return found.filter((event): event is EventRow => typeof event === "object");
}
