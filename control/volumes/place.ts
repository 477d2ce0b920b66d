import { basename } from "node:path";
import { type Document, isMap, isSeq, parseAllDocuments, type YAMLMap } from "yaml";
import { fail } from "../../common/errors.ts";
import { tasksOf } from "../../contract/task/header.ts";
import { isWithin } from "../../contract/task/infra.ts";
import { readTask, type Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { infraOf } from "../offer-words.ts";
import type { Volume } from "./schema.ts";
import { findVolume, getReadyVolume } from "./store.ts";

/**
 * The text of a task that runs where the volumes are that it names. Throws for one that is not there or not ready,
 * and where a task and its volumes cannot be in one place. A text that cannot be read stays as it is.
 */
export async function withVolumes(
  { db }: Pick<Ground, "db">,
  yaml: string,
  call: Pick<Call, "workspaces">,
): Promise<string> {
  if (!yaml.includes("volumes")) return yaml;
  const reading = readTask(yaml);
  if (!reading.ok) return yaml;
  const places: (string | undefined)[] = [];
  for (const task of reading.document.tasks) {
    const volumes = await Promise.all(
      namesIn(task).map((name) => getReadyVolume(db, name, call.workspaces)),
    );
    places.push(placeFor(task, volumes));
  }
  return places.some((place) => place !== undefined) ? placed(yaml, places) : yaml;
}

/** The volumes that a task attaches by name. */
export const namesIn = ({ volumes }: Task): string[] =>
  Object.values(volumes).flatMap((mount) => (mount.kind === "named" ? [mount.name] : []));

/** The claims of Kubernetes among those. */
export async function claimsOf({ db }: Pick<Ground, "db">, task: Task): Promise<string[]> {
  const volumes = await Promise.all(namesIn(task).map((name) => findVolume(db, name)));
  return volumes.flatMap((one) =>
    one?.document.type === "k8s-pvc" && one.path !== null ? [basename(one.path)] : [],
  );
}

/** The place that a task is to be told of; undefined where it is within that already, or there is none. */
function placeFor({ nodes, resources }: Task, volumes: readonly Volume[]): string | undefined {
  const [first, ...others] = volumes
    .flatMap(({ name, document: { infra } }) => (infra === undefined ? [] : [{ name, infra }]))
    .sort((a, b) => b.infra.length - a.infra.length);
  if (first === undefined) return undefined;
  const { name, infra } = first;
  const apart = others.find((one) => !isWithin(infra, one.infra));
  if (apart !== undefined)
    fail("ValueError", `volumes: ${name} is on ${infra}, and ${apart.name} on ${apart.infra}`);
  const alone = volumes.find(({ document }) => document.type === "k8s-pvc" && isForOne(document));
  if (alone !== undefined && nodes > 1)
    fail(
      "ValueError",
      `volumes: one node alone can have ${alone.name}, and the task has ${nodes}; use one with config.access_mode: ReadWriteMany`,
    );
  if (infra.startsWith("ssh/") && infra.split("/").length > 2 && nodes > 1)
    fail(
      "ValueError",
      `volumes: ${name} is on one host, ${infra}, and the task has ${nodes} nodes; use a volume of type nfs`,
    );
  const asked = resources.candidates.map(infraOf);
  if (asked.every((one) => one !== undefined && isWithin(one, infra))) return undefined;
  const elsewhere = asked.find((one) => one !== undefined && !isWithin(infra, one));
  if (elsewhere !== undefined)
    fail("ValueError", `volumes: ${name} is on ${infra}, and resources.infra is ${elsewhere}`);
  return infra;
}

const isForOne = ({ config }: Volume["document"]): boolean =>
  !["ReadWriteMany", "ReadOnlyMany"].includes(config.access_mode ?? "");

/** The text with the place of each task where its resources leave it open, or name a wider one. */
function placed(yaml: string, places: readonly (string | undefined)[]): string {
  const documents = [...parseAllDocuments(yaml, { merge: true })] as Document[];
  tasksOf(documents).forEach((task, at) => {
    const infra = places[at];
    if (infra === undefined) return;
    if (!isMap(task.get("resources"))) task.set("resources", task.createNode({}));
    const resources = task.get("resources") as YAMLMap;
    place(resources, infra, true);
    for (const list of [resources.get("any_of"), resources.get("ordered")])
      if (isSeq(list)) for (const item of list.items) if (isMap(item)) place(item, infra, false);
  });
  return documents.map(String).join("---\n");
}

const parts = ["cloud", "region", "zone"];

function place(resources: YAMLMap, infra: string, isWhole: boolean): void {
  const named = parts.flatMap((key) => resources.get(key) ?? []).join("/");
  const own = resources.get("infra") ?? named;
  if (own === "" ? !isWhole : isWithin(String(own), infra)) return;
  for (const key of parts) resources.delete(key);
  resources.set("infra", infra);
}
