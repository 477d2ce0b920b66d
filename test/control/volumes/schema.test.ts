import assert from "node:assert/strict";
import { test } from "node:test";
import { readVolume } from "../../../contract/volume.ts";
import { toRecord } from "../../../control/volumes/schema.ts";
import { aVolume } from "./rows.ts";

test("a claim goes by its own name, in a context that may have slashes", () => {
  const infra = "kubernetes/arn:aws:eks:eu:1/lab";
  const document = readVolume({ name: "data", type: "k8s-pvc", infra, size: "1Gi" });
  const { cloud, region, zone, name_on_cloud, config } = toRecord(
    aVolume({ document, path: "/mnt/outrigger/outrigger-v1" }),
    [],
  );

  assert.deepEqual([cloud, region, zone], ["kubernetes", "arn:aws:eks:eu:1/lab", null]);
  assert.deepEqual([name_on_cloud, config], ["outrigger-v1", {}]);
});

test("a folder that is not made yet has no name on its machine", () => {
  assert.equal(toRecord(aVolume({ path: null }), []).name_on_cloud, "");
});
