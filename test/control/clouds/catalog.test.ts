import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import {
  acceleratorOf,
  CatalogFile,
  completed,
  openCatalog,
} from "../../../control/clouds/catalog.ts";
import { aCluster } from "../../helpers/clusters.ts";

const shipped = join(import.meta.dirname, "../../../control/clouds/catalog");

/** Where the figures of a row stand. */
interface Evidence {
  readonly source: string;
  readonly date: string;
}

for (const name of readdirSync(shipped))
  test(`every row of ${name} says where its figures stand, and when they were read`, () => {
    const file = CatalogFile.parse(parse(readFileSync(join(shipped, name), "utf8")));
    const rows: [string, readonly Evidence[]][] = Object.entries(file);
    assert.ok(rows.some(([, all]) => all.length > 0));
    for (const [section, all] of rows)
      for (const row of all) {
        assert.match(row.source, /^https:\/\/[\w.-]+\/./);
        for (const left of ["source", "date"]) {
          const without = Object.fromEntries(Object.entries(row).filter(([key]) => key !== left));
          assert.equal(CatalogFile.safeParse({ [section]: [without] }).success, false);
        }
      }
  });

/** The catalog of a folder with own files, and what was said of them. */
function ownCatalog(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "catalog-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const told: string[] = [];
  const own = join(folder, "own");
  const write = (name: string, text: string) => {
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, name), text);
  };
  return { now: openCatalog(own, (problem) => told.push(problem)), told, own, write };
}

const evidence = "source: our contract, date: 2026-11-01";

test("every accelerator that a machine of ours has is known", (t) => {
  const { accelerators, machines } = ownCatalog(t).now();
  const known = accelerators.map(({ name }) => name);
  for (const { accelerator } of machines)
    assert.ok(known.includes(accelerator ?? ""), `${accelerator}`);
});

test("own files win over what is shipped, and are read again once they change", (t) => {
  const { now, write, own } = ownCatalog(t);
  const before = now();
  assert.equal(acceleratorOf(before, "h100")?.memory_gb, 80);

  write(
    "ours.yaml",
    `accelerators: [{name: H100, manufacturer: NVIDIA, memory_gb: 96, ${evidence}}]
machines: [{cloud: aws, region: us-east-1, instance_type: p5.48xlarge, accelerator: H100, count: 8, on_demand: 40, ${evidence}}]
prices: [{infra: ssh/lab, dollars_per_hour: 1.25, ${evidence}}]`,
  );
  const after = now();
  const p5 = after.machines.filter(({ instance_type: type }) => type === "p5.48xlarge");
  assert.deepEqual(
    [acceleratorOf(after, "H100")?.memory_gb, p5.map((one) => one.on_demand)],
    [96, [40]],
  );
  assert.equal(after.machines.length, before.machines.length);
  assert.equal(now(), after);

  write("ours.yaml", "{}");
  utimesSync(join(own, "ours.yaml"), 1, 1);
  assert.deepEqual(now(), before);
});

test("an offer has the memory of its accelerators, and an own price where there is one", (t) => {
  const { now, write } = ownCatalog(t);
  write("ours.yml", `prices: [{infra: ssh/lab, dollars_per_hour: 1.25, ${evidence}}]`);
  const offer = { ...aCluster().offer, infra: "ssh/lab", accelerators: { name: "a100", count: 2 } };

  const { accelerators, dollarsPerHour } = completed(now(), offer);

  assert.deepEqual([accelerators?.memoryGb, accelerators?.manufacturer], [40, "NVIDIA"]);
  assert.equal(dollarsPerHour, 1.25);
  assert.equal(
    completed(now(), { ...offer, infra: "ssh/other" }).dollarsPerHour,
    offer.dollarsPerHour,
  );
});

test("an own file that is wrong is left out, and why is said once", (t) => {
  const { now, told, write, own } = ownCatalog(t);
  write("a.yaml", "prices: [{infra: ssh/lab, dollars_per_hour: 1}]");
  write("b.yaml", "prices: [{");
  write("c.yaml", `prices: [{infra: local, dollars_per_hour: 2, ${evidence}}]`);
  write("notes.txt", "not read");
  symlinkSync("nowhere", join(own, "gone.yaml"));

  assert.deepEqual(
    now().prices.map(({ infra }) => infra),
    ["local"],
  );
  now();
  assert.equal(told.length, 2);
  assert.match(told[0] ?? "", /^a\.yaml: prices\.0\.source: /);
  assert.match(told[1] ?? "", /^b\.yaml: /);
});
