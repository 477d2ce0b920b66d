import assert from "node:assert/strict";
import { test } from "node:test";
import type { Need } from "../../../control/providers/provider.ts";
import { chooseHosts, couldFit, offersOf } from "../../../control/providers/ssh-hosts.ts";
import { aHost } from "../../helpers/hosts.ts";

const offered = (hosts: ReturnType<typeof aHost>[], need: Need = {}) =>
  offersOf(hosts, need).map(({ infra, instanceType }) => `${infra} ${instanceType}`);
const namesOf = (hosts: readonly { name: string }[]) => hosts.map(({ name }) => name);

const small = aHost("small", { cpus: 8, memoryGb: 64 });
const large = aHost("large", { cpus: 32, memoryGb: 256 });
const gpus = aHost("gpus", { cpus: 96, memoryGb: 512, accelerators: { name: "H100", count: 8 } });
const few = aHost("few", { cpus: 16, memoryGb: 128, accelerators: { name: "H100", count: 2 } });

test("each kind of machine in a pool is offered once", () => {
  assert.deepEqual(offered([small, large, gpus, aHost("twin", small.facts)]), [
    "ssh/lab 8CPU--64GB",
    "ssh/lab 32CPU--256GB",
    "ssh/lab 96CPU--512GB--H100:8",
  ]);
});

test("several nodes on mixed hardware are offered what the smallest of them has", () => {
  assert.deepEqual(offered([large, small], { nodes: 2 }), ["ssh/lab 8CPU--64GB"]);
  assert.deepEqual(offered([gpus, few, small], { nodes: 2 }), ["ssh/lab 16CPU--128GB--H100:2"]);
  assert.deepEqual(offered([small, large], { nodes: 3 }), []);
  const wide = aHost("wide", { cpus: 64, memoryGb: 32 });
  assert.deepEqual(offered([small, wide], { nodes: 2 }), ["ssh/lab 8CPU--32GB"]);
});

test("hosts that the same plan has given to other clusters are not offered", () => {
  const [offer] = offersOf([small, large], {});
  assert.ok(offer);
  const planned = [{ offer, nodes: 1, machine: {} }];

  assert.deepEqual(offered([small, large], { planned }), ["ssh/lab 32CPU--256GB"]);
  assert.deepEqual(offered([small], { planned }), []);
  const elsewhere = [{ offer: { ...offer, provider: "local" }, nodes: 1, machine: {} }];
  assert.deepEqual(offered([small], { planned: elsewhere }), ["ssh/lab 8CPU--64GB"]);
});

test("only what was asked for is offered, where it was asked for", () => {
  const attic = { ...large, pool: "attic" };
  assert.deepEqual(offered([small, gpus], { accelerators: { name: "h100", count: 4 } }), [
    "ssh/lab 96CPU--512GB--H100:8",
  ]);
  assert.deepEqual(offered([small, attic], { infra: "ssh/attic" }), ["ssh/attic 32CPU--256GB"]);
  assert.equal(offered([small, attic], { infra: "ssh" }).length, 2);
  assert.deepEqual(offered([small], { infra: "aws" }), []);
  assert.deepEqual(offered([small], { cpus: { count: 9, orMore: true } }), []);
});

test("hosts that are taken or away count for what could be offered, and so does one never seen", () => {
  const away = { ...gpus, problem: "it does not answer" };
  const unseen = { ...small, facts: null, deployedAt: null };
  const H100 = { name: "H100", count: 8 };

  assert.equal(couldFit([small, away], { accelerators: H100 }), true);
  assert.equal(couldFit([small, away], { accelerators: H100, nodes: 2 }), false);
  assert.equal(couldFit([away, unseen], { accelerators: H100, nodes: 2 }), true);
  assert.equal(couldFit([unseen], { infra: "ssh/lab" }), true);
  assert.equal(couldFit([unseen], { infra: "ssh/attic" }), false);
});

test("the smallest hosts that fit are taken, of the pool that was offered", () => {
  const [offer] = offersOf([small, large], { infra: "ssh/lab" });
  assert.ok(offer);
  const attic = { ...aHost("attic", small.facts), pool: "attic" };

  assert.deepEqual(
    namesOf(chooseHosts([gpus, large, attic, small], { offer, nodes: 2, machine: {} }, 2)),
    ["small", "large"],
  );
  assert.throws(() => chooseHosts([attic, small], { offer, nodes: 2, machine: {} }, 2), {
    name: "ResourcesUnavailableError",
    message: "pool lab has 1 free hosts with 8CPU--64GB, and 2 are needed",
  });
});

test("a host that is asked for by its name is the one that is offered and taken", () => {
  const [offer] = offersOf([small, large], { infra: "ssh/lab/large" });
  assert.ok(offer);

  assert.deepEqual([offer.infra, offer.zone], ["ssh/lab/large", "large"]);
  assert.deepEqual(
    namesOf(chooseHosts([small, gpus, large], { offer, nodes: 1, machine: {} }, 1)),
    ["large"],
  );
  assert.throws(() => chooseHosts([small, gpus], { offer, nodes: 1, machine: {} }, 1), {
    name: "ResourcesUnavailableError",
  });
  assert.deepEqual(offered([small, large], { infra: "ssh/lab/large", nodes: 2 }), []);
  assert.equal(couldFit([{ ...small, facts: null }], { infra: "ssh/lab/small" }), true);
  assert.equal(couldFit([{ ...small, facts: null }], { infra: "ssh/lab/large" }), false);
});

test("for containers only hosts that can run them are offered and taken", () => {
  const podman = aHost("podman", { ...small.facts, containers: "podman" });
  const need = { container: true } as const;
  const machine = { image: { kind: "container", name: "lab/busy" } } as const;
  const [offer] = offersOf([small, podman], need);
  assert.ok(offer);

  assert.deepEqual(namesOf(chooseHosts([small, podman], { offer, nodes: 1, machine }, 1)), [
    "podman",
  ]);
  assert.deepEqual(offersOf([small], need), []);
  assert.equal(couldFit([small], need), false);
});

test("hosts whose docker is rootless are offered and taken where nobody reaches ports in its containers", () => {
  const own = aHost("own", { ...small.facts, containers: "rootless docker" });
  const podman = aHost("podman", { ...small.facts, containers: "podman" });
  const image = { kind: "container", name: "lab/busy" } as const;
  const taken = (machine: { reached?: true }, nodes = 1) => {
    const [offer] = offersOf([own], { container: true });
    assert.ok(offer);
    return namesOf(chooseHosts([own, podman], { offer, nodes, machine: { image, ...machine } }, 1));
  };

  assert.deepEqual([taken({}), taken({ reached: true })], [["own"], ["podman"]]);
  assert.deepEqual(offersOf([own], { container: true, reached: true }), []);
  // Each of several nodes must be reached by the others.
  assert.deepEqual(taken({}, 2), ["podman"]);
  const two = [own, aHost("twin", own.facts)];
  assert.deepEqual(offersOf(two, { container: true, nodes: 2 }), []);
  assert.equal(couldFit(two, { container: true, nodes: 2 }), false);
  assert.equal(offersOf(two, { nodes: 2 }).length, 1);
  assert.equal(offersOf([own], { reached: true }).length, 1);
});
