import { configSchema, readConfig, type TaskConfig } from "./config.ts";
import { type FileMount, fileMountsSchema, readFileMounts } from "./file-mounts.ts";
import { child, gives, type Place, refuse } from "./place.ts";
import { type Pool, poolSettings, readPool } from "./pool.ts";
import {
  data,
  elsewhere,
  filledText,
  flag,
  ignored,
  isMapping,
  listOf,
  machines,
  mappingOf,
  number,
  readFields,
  reads,
  script,
  text,
  unlisted,
} from "./readers.ts";
import { resourceReaders } from "./resource-fields.ts";
import { type Resources, readResources, resourcesReference } from "./resources.ts";
import { either } from "./schema.ts";
import { readService, type Service, serviceSettings } from "./service.ts";
import { type Lookup, substitute, toTemplate } from "./substitution.ts";
import {
  envsSchema,
  type GivenVariables,
  lookupOf,
  type ManagedSecret,
  managedSecret,
  readVariables,
  secretsSchema,
  type Variables,
} from "./variables.ts";
import { readVolumes, type VolumeMount, volumesSchema } from "./volumes.ts";
import { type Workdir, workdir } from "./workdir.ts";

/** What a user asks to run. Undefined where the document says nothing. */
export interface Task extends Variables {
  readonly name: string | undefined;
  readonly workdir: Workdir | undefined;
  readonly nodes: number;
  readonly resources: Resources;
  readonly fileMounts: Readonly<Record<string, FileMount>>;
  readonly volumes: Readonly<Record<string, VolumeMount>>;
  readonly managedSecrets: readonly ManagedSecret[];
  readonly setup: string | undefined;
  readonly run: string | undefined;
  readonly service: Service | undefined;
  readonly pool: Pool | undefined;
  /** The pool on whose workers it runs as a managed job. */
  readonly inPool: string | undefined;
  readonly config: TaskConfig["settings"];
  readonly hooks: TaskConfig["hooks"];
  /** Bash text that control runs at each change of a managed job. */
  readonly eventCallback: string | undefined;
  /** Paths as the document names them, each with the path inside the uploaded archive. */
  readonly uploadedPaths: Readonly<Record<string, string>>;
  /** It belongs to a job group, whose tasks reach one another. */
  readonly isInGroup?: true;
}

const name = reads({ type: "string", pattern: "^[\\w.-]+$" }, (place) => {
  const value = text(place);
  if (value === undefined) return undefined;
  if (/^[A-Za-z0-9]+(?:[._-]{1,2}[A-Za-z0-9]+)*$/.test(value)) return value;
  return refuse(place, "must be letters and digits, with one or two of `.`, `_`, `-` between them");
});

const sizes = mappingOf(number({ min: 0 }));
const oneSize = { ...sizes.schema, minProperties: 1, maxProperties: 1 };
/** How much data flows between a task and a bucket: checked, and not used. */
const estimate = reads(oneSize, (place) => {
  sizes(place);
  const size = isMapping(place.value) ? Object.keys(place.value).length : 1;
  if (size !== 1) refuse(place, "must have exactly one entry: an address and its gigabytes");
});

/** The top level of a task; what needs more than its own value to be read is taken as data. */
export const taskReaders = {
  name,
  workdir: reads(workdir.schema, data),
  num_nodes: machines(1),
  resources: reads(resourcesReference, data),
  file_mounts: reads(fileMountsSchema, data),
  volumes: reads(volumesSchema, data),
  envs: reads(envsSchema, data),
  secrets: reads(secretsSchema, data),
  managed_secrets: listOf(managedSecret),
  setup: script,
  run: script,
  service: reads(serviceSettings.schema, data),
  pool: reads(either(text.schema, poolSettings.schema), data),
  config: reads(configSchema, data),
  event_callback: filledText,
  inputs: estimate,
  outputs: estimate,
  api_server_access: flag,
  hooks: elsewhere("config.hooks"),
  file_mounts_mapping: unlisted(mappingOf(text)),
  volume_mounts: ignored,
  _metadata: ignored,
  _user_specified_yaml: ignored,
};

/** Fields of `resources` that people write at the top level. */
const ofResources = Object.fromEntries(
  Object.keys(resourceReaders)
    .filter((key) => !key.startsWith("_"))
    .map((key) => [key, elsewhere(`resources.${key}`)]),
);

/** Reads one task; what is wrong with it is in the notes of its place. */
export function readTaskFields(place: Place, variables: GivenVariables): Task {
  const given = isMapping(place.value) ? readFields(place, { ...ofResources, ...taskReaders }) : {};
  const resources = readResources(child(place, "resources"));
  const environment = readVariables(place, variables);
  const lookup = lookupOf(environment, place);
  return {
    name: given.name,
    workdir: readWorkdir(place, lookup),
    nodes: given.num_nodes ?? 1,
    resources,
    fileMounts: readFileMounts(child(place, "file_mounts"), lookup, gives(place, "workdir")),
    volumes: readVolumes(child(place, "volumes"), lookup),
    ...environment,
    managedSecrets: given.managed_secrets ?? [],
    setup: given.setup,
    run: given.run,
    ...readKind(place, resources, environment),
    ...readSettings(place, resources),
    eventCallback: given.event_callback,
    uploadedPaths: given.file_mounts_mapping ?? {},
  };
}

function readSettings(place: Place, resources: Resources): Pick<Task, "config" | "hooks"> {
  const overrides = child(child(place, "resources"), "_cluster_config_overrides");
  const below = { ...overrides, value: resources.configOverrides };
  const { settings, hooks } = readConfig(child(place, "config"), below);
  return { config: settings, hooks };
}

function readWorkdir(place: Place, lookup: Lookup): Workdir | undefined {
  if (!gives(place, "workdir")) return undefined;
  const at = child(place, "workdir");
  return workdir({ ...at, value: substitute(at.value, lookup) });
}

/** A task is a service, or a pool, or neither: then it may name the pool that it runs in. */
function readKind(
  place: Place,
  resources: Resources,
  variables: Variables,
): Pick<Task, "service" | "pool" | "inPool"> {
  const service = child(place, "service");
  const pool = poolPlace(place);
  const inPool = typeof pool?.value === "string" ? filledText(pool) : undefined;
  const isService = gives(place, "service") && pool?.path[0] !== "service";
  if (pool !== undefined && isService)
    refuse(pool, "cannot stand beside `service`; a task is one or the other");
  const isPool = pool !== undefined && typeof pool.value !== "string";
  if ((isPool || isService) && resources.jobRecovery !== undefined)
    refuse(child(child(place, "resources"), "job_recovery"), "is for managed jobs only");
  const names = new Set([...Object.keys(variables.secrets), ...variables.storedSecrets]);
  const lookup = lookupOf({ ...variables, secrets: {} }, place);
  return {
    service: isService
      ? readService(service, resources, (value) => toTemplate(value, lookup, names))
      : undefined,
    pool: isPool ? readPool(place, pool, resources) : undefined,
    inPool,
  };
}

/** Where the pool stands: at the top, or inside the service section, as existing clients send it. */
function poolPlace(place: Place): Place | undefined {
  if (gives(place, "pool")) return child(place, "pool");
  const inside = child(child(place, "service"), "pool");
  return isMapping(inside.value) ? inside : undefined;
}
