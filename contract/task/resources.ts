import type { Autostop } from "./autostop.ts";
import type { JobRecovery } from "./job-recovery.ts";
import { child, gives, isFull, type Place, refuse } from "./place.ts";
import { data, isMapping, isWithin, readFields, reads } from "./readers.ts";
import {
  type GivenResources,
  mergeResources,
  resourceReaders,
  settleNames,
} from "./resource-fields.ts";
import { type ResourceRequest, toRequests } from "./resource-request.ts";
import { list, mapping } from "./schema.ts";

/** What the nodes of a task must be like. */
export interface Resources {
  /** Which candidate to take: the cheapest that can be had, or the first one. */
  readonly choose: "cheapest" | "inOrder";
  /** At least one; every one of them would do. */
  readonly candidates: readonly ResourceRequest[];
  readonly priority: number;
  /** Undefined leaves an existing cluster as it is. */
  readonly autostop: Autostop | "off" | undefined;
  readonly jobRecovery: JobRecovery | undefined;
  /** Settings for the cluster that existing clients send beside the resources. */
  readonly configOverrides: Readonly<Record<string, unknown>>;
}

/** Each costs a look at every provider. */
const mostCandidates = 256;

/** Fields that describe the task and not a machine, so that candidates cannot differ in them. */
const shared = ["job_recovery", "priority", "autostop"] as const;

/** The schema of `resources` stands in the definitions of a task's: it has others of its kind within. */
export const resourcesReference = { $ref: "#/definitions/resources" };
const candidates = reads({ ...list(resourcesReference), minItems: 1 }, data);
const readers = { ...resourceReaders, any_of: candidates, ordered: candidates };
export const resourcesSchema = mapping(readers);

/** Reads `resources`; a missing section gives one candidate that leaves everything open. */
export function readResources(place: Place): Resources {
  const isMissing = place.value === undefined || place.value === null;
  const base = isMissing ? {} : settleNames(place, readFields(place, readers));
  const list = listName(place);
  const items = list === undefined ? [] : readItems(child(place, list), base);
  const merged = list === undefined ? [{ place, given: base }] : items;
  for (const field of shared) refuseDifferent(merged, field);
  const kinds = merged.reduce((sum, { given }) => sum + (given.accelerators?.kinds.length ?? 1), 0);
  const isReadable = isWithin(place, kinds, mostCandidates);
  const requests = isReadable ? merged.map((item) => toRequests(item.place, item.given)) : [];
  const first = merged[0]?.given ?? base;
  return {
    choose: list === "ordered" || isOrdered(merged) ? "inOrder" : "cheapest",
    candidates: requests.flat(),
    priority: first.priority ?? 0,
    autostop: first.autostop,
    jobRecovery: first.job_recovery,
    configOverrides: isMapping(first._cluster_config_overrides)
      ? first._cluster_config_overrides
      : {},
  };
}

/** Which list of alternatives the mapping has. */
function listName(place: Place): "any_of" | "ordered" | undefined {
  if (gives(place, "any_of") && gives(place, "ordered"))
    refuse(place, "cannot have both `any_of` and `ordered`; keep one of them");
  if (gives(place, "any_of")) return "any_of";
  return gives(place, "ordered") ? "ordered" : undefined;
}

interface Item {
  readonly place: Place;
  readonly given: GivenResources;
}

function readItems(list: Place, base: GivenResources): Item[] {
  refuseMixedLists(list, base);
  const { value } = list;
  if (!Array.isArray(value) || value.length === 0)
    refuse(list, "must be a list of at least one mapping of resources", "type_error");
  const items = Array.isArray(value) && isWithin(list, value.length, mostCandidates) ? value : [];
  const places = items.map((_, at) => child(list, at));
  return places
    .filter((place) => !isFull(place))
    .map((place) => ({ place, given: mergeResources(base, readItem(place)) }));
}

function refuseMixedLists(list: Place, base: GivenResources): void {
  const kinds = base.accelerators;
  if (kinds === undefined || kinds.kinds.length < 2) return;
  if (kinds.ordered)
    refuse(list, "cannot be combined with a list of accelerators; put them into the items");
  else if (list.path.at(-1) === "ordered")
    refuse(list, "cannot be combined with several kinds of accelerators; put them into the items");
}

function readItem(place: Place): GivenResources {
  for (const name of ["any_of", "ordered"])
    if (gives(place, name)) refuse(child(place, name), "cannot be nested; write one flat list");
  const given = settleNames(place, readFields(place, readers));
  if (given.accelerators !== undefined && given.accelerators.kinds.length > 1)
    refuse(place, "can name one kind of accelerator only; write one item for each kind");
  return given;
}

function isOrdered(items: readonly Item[]): boolean {
  return items.some(
    ({ given }) => given.accelerators?.ordered && given.accelerators.kinds.length > 1,
  );
}

function refuseDifferent(items: readonly Item[], field: (typeof shared)[number]): void {
  const [first, ...others] = items.map(({ given }) => JSON.stringify(given[field]));
  const at = others.findIndex((value) => value !== first);
  const different = items[at + 1];
  if (at >= 0 && different !== undefined)
    refuse(child(different.place, field), `\`${field}\` must be the same in every candidate`);
}
