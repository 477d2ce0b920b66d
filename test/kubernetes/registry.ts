import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { labHost, pushImage, whyNoLab } from "../helpers/kubernetes.ts";
import { startRegistry, whyNoRegistry } from "../helpers/registry.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

test("a pod pulls a private image with the login of its task", {
  skip: whyNoLab() || whyNoRegistry(),
  timeout: 240_000,
}, async (t) => {
  const [user, password] = ["ana", "hunter2"];
  const server = await startRegistry(t, user, password, labHost);
  await pushImage(server, "team/model:1", `${user}:${password}`);
  const { control } = await startKubeControl(t);
  const taskFor = (secret: string) =>
    aPodTask("echo from a private image", {
      resources: { infra: "k8s", cpus: 0.5, memory: 1, image_id: "docker:team/model:1" },
      secrets: {
        OUTRIGGER_DOCKER_USERNAME: user,
        OUTRIGGER_DOCKER_PASSWORD: secret,
        OUTRIGGER_DOCKER_SERVER: server,
      },
    });

  const wrong = join(control.home, "wrong.yaml");
  writeFileSync(wrong, taskFor("wrong"));
  const { code, stderr } = await control.cli("launch", "-y", "-c", "wrong", wrong);
  assert.notEqual(code, 0);
  assert.match(stderr, /team\/model:1.*401 Unauthorized/s);
  await clusterOf(control, "wrong").untilStatus(undefined);

  const right = clusterOf(control, "right");
  const { text } = await right.follow(await right.launch(taskFor(password)));
  assert.match(text, /from a private image/);
  await right.down();
});
