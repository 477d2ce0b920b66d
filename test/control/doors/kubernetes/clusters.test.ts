import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openKubeClusters } from "../../../../control/doors/kubernetes/clusters.ts";

/** A kubeconfig whose contexts can be changed. */
function aConfig(t: TestContext) {
  const file = join(mkdtempSync(join(tmpdir(), "contexts-")), "config");
  t.after(() => rmSync(join(file, ".."), { recursive: true }));
  let writes = 0;
  return {
    file,
    write(current: string, names: readonly string[]) {
      const config = {
        "current-context": current,
        clusters: [{ name: "k", cluster: { server: "https://host:6443" } }],
        contexts: names.map((name) => ({ name, context: { cluster: "k", namespace: name } })),
      };
      writeFileSync(file, JSON.stringify(config));
      writes += 1;
      utimesSync(file, writes, writes);
    },
  };
}

const eks = "arn:aws:eks:us-east-1:1:cluster/prod";

for (const [what, allowed, names] of [
  ["nothing", [], ["b"]],
  ["a list", ["a", eks, "gone"], ["a", eks]],
  ["a list with the current one, which comes first", ["a", "b"], ["b", "a"]],
  ["all", ["all"], ["b", "a", eks]],
] as const)
  test(`the contexts that control uses if settings name ${what}`, async (t) => {
    const { file, write } = aConfig(t);
    write("b", ["a", "b", eks]);
    const clusters = openKubeClusters(file, allowed);
    t.after(() => clusters.close());

    assert.deepEqual(await clusters.names(), names);
    for (const name of names) assert.equal((await clusters.api(name)).context, name);
    assert.equal((await clusters.api(null)).context, names[0]);
  });

test("a context that is not allowed, or not there, is refused by name", async (t) => {
  const { file, write } = aConfig(t);
  write("a", ["a", "b"]);
  const clusters = openKubeClusters(file, []);
  const refused = (name: string) =>
    assert.rejects(clusters.api(name), {
      type: "CloudError",
      message: new RegExp(`may not use the Kubernetes context ${name}`),
    });

  await refused("b");
  await refused("c");
});

test("a kubeconfig that has changed is read again", async (t) => {
  const { file, write } = aConfig(t);
  const clusters = openKubeClusters(file, ["all"]);
  assert.deepEqual(await clusters.names(), []);
  assert.match((await clusters.whyNone()) ?? "", /^there is no kubeconfig at .*; set KUBECONFIG/);
  await assert.rejects(clusters.api(null), { message: /no context of .* may be used/ });

  write("a", []);
  assert.match((await clusters.whyNone()) ?? "", /^no context of .* may be used/);
  write("a", ["a"]);
  assert.equal(await clusters.whyNone(), undefined);
  assert.deepEqual(await clusters.names(), ["a"]);
  const before = await clusters.api("a");
  assert.equal(await clusters.api("a"), before);
  write("b", ["a", "b"]);

  assert.deepEqual(await clusters.names(), ["b", "a"]);
  assert.notEqual(await clusters.api("a"), before);
});
