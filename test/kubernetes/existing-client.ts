import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { envOf } from "../../common/product.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { hasPython, newestVersion } from "../helpers/python.ts";
import { startClient } from "../interop/client.ts";
import { clients, installClient } from "../interop/existing-client.ts";
import { faultOf, readStages } from "../interop/lines.ts";
import { addGpus, startKubeControl } from "./lab.ts";

const lines = join(import.meta.dirname, "../interop/lines/kubernetes.txt");

test("the existing client sees what Kubernetes has, labels it and launches there", {
  skip: whyNoLab(),
  timeout: 600_000,
}, async (t) => {
  const wanted = clients.at(-1)?.wanted ?? "";
  const version = (await hasPython(t.signal)) && (await newestVersion(wanted, t.signal));
  if (!version) return t.skip("the Python package index does not answer");
  const bin = await installClient(version, t.signal);
  const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_IMAGE: "docker.io/lab/gpu:1" });
  const { home, endpoint } = lab.control;
  await addGpus(t, lab, { label: null });
  const env = {
    ...{ PATH: [bin, process.env["PATH"]].join(":"), HOME: home },
    ...{ ...envOf("API_SERVER_ENDPOINT", endpoint), ...envOf("DISABLE_USAGE_COLLECTION", "1") },
  };
  await using client = startClient(bin, env, home);

  for (const line of readStages(readFileSync(lines, "utf8"), { version, values: {} }).flat())
    await t.test(line.args.join(" "), async () => {
      const ended = await client.run(line.args, 120_000);
      assert.equal(faultOf(line, ended, home), undefined, ended.text);
    });
});
