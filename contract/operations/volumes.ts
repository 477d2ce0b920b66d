import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { document, listOf, mapOf, settings, text } from "../caps.ts";
import { VolumeRecord } from "../records/volumes.ts";
import { volumeTypes } from "../volume.ts";
import { body, Nothing, optional, query, queryBoolean, queryList } from "./fields.ts";

const volumeType = text.describe(`${Object.keys(volumeTypes).join(", ")}.`);
const ofVolume = {
  size: optional(text).describe("Such as 10Gi."),
  labels: optional(mapOf(text)),
  config: optional(settings).describe("Settings of the volume's type."),
  use_existing: optional(z.boolean()).describe("Register what exists instead of creating it."),
};

/** Volumes. */
export const volumeOperations = operationsOf("volume_", {
  list: {
    route: "GET /volumes",
    mode: "async",
    summary: "List volumes.",
    access: "viewer",
    input: query({
      refresh: queryBoolean(false).describe("Ask the clouds first."),
      names: optional(queryList).describe("Only these."),
    }),
    output: z.array(VolumeRecord),
  },
  delete: {
    route: "POST /volumes/delete",
    mode: "async",
    queue: "long",
    summary: "Delete volumes, in the order of their names given.",
    access: "user",
    input: body("VolumeDeleteBody", {
      names: listOf(text),
      purge: z
        .boolean()
        .default(false)
        .describe("Delete it even if it is in use or the cloud fails."),
    }),
    output: Nothing,
    errors: ["ValueError", "VolumeNotFoundError", "ConflictError"],
  },
  validate: {
    route: "POST /volumes/validate",
    summary: "Check the description of a volume.",
    access: "viewer",
    input: body("VolumeValidateBody", {
      name: optional(text),
      volume_type: optional(volumeType),
      infra: optional(text).describe("cloud, cloud/region or cloud/region/zone."),
      ...ofVolume,
    }),
    output: Nothing,
    errors: ["ValueError"],
    encodesErrors: true,
  },
  apply: {
    route: "POST /volumes/apply",
    mode: "async",
    queue: "long",
    summary: "Create or register a volume; an existing one is not changed.",
    access: "user",
    about: { newVolume: "name" },
    input: body("VolumeApplyBody", {
      name: text,
      volume_type: volumeType,
      cloud: text.describe("Cloud that has the volume."),
      region: optional(text).describe("Region or context."),
      zone: optional(text),
      ...ofVolume,
      creation_yaml: optional(document).describe("What the user wrote, kept to be shown."),
    }),
    output: Nothing,
    errors: ["ValueError", "NotSupportedError", "ConflictError"],
  },
});
