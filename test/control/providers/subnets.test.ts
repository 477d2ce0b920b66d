import assert from "node:assert/strict";
import { test } from "node:test";
import { endsOf, freeSubnets } from "../../../control/providers/subnets.ts";

const allOf = (routes: string[], name = "n") => [...freeSubnets(name, routes)];
const addressesOf = (subnets: number[]) => subnets.map((one) => endsOf(one).node);

test("both ends of a subnet are its two addresses for machines", () => {
  assert.deepEqual(endsOf(0), { near: "10.213.0.1", node: "10.213.0.2" });
  assert.deepEqual(endsOf(2 ** 14 - 1), { near: "10.213.255.253", node: "10.213.255.254" });
  assert.deepEqual(endsOf(2 ** 14 + 64), { near: "172.29.1.1", node: "172.29.1.2" });
});

test("every subnet is offered once, those of the first range first", () => {
  const all = allOf(["default", "192.0.2.0/24"]);

  assert.equal(all.length, 3 * 2 ** 14);
  assert.equal(new Set(all).size, all.length);
  assert.ok(addressesOf(all.slice(0, 2 ** 14)).every((one) => one.startsWith("10.213.")));
});

test("what a route leads to is not offered, be it wider or narrower than a subnet", () => {
  const routes = ["10.213.0.0/17", "10.213.200.5", "10.213.201.8/30", "172.16.0.0/12"];

  const addresses = addressesOf(allOf(routes));

  assert.ok(!addresses.some((one) => /^10\.213\.(\d\d?|1[01]\d|12[0-7])\./.test(one)));
  assert.ok(!addresses.some((one) => one.startsWith("172.29.")));
  assert.equal(addresses.includes("10.213.200.6"), false);
  assert.equal(addresses.includes("10.213.201.10"), false);
  assert.equal(addresses.length, 2 ** 13 - 2 + 2 ** 14);
});

test("where a company has all of 10.0.0.0/8, the next range is used", () => {
  const [first] = allOf(["10.0.0.0/8"]);

  assert.match(endsOf(first ?? 0).node, /^172\.29\./);
});

test("halves of a default route, as tunnels set them, take nothing away", () => {
  assert.equal(allOf(["0.0.0.0/1", "128.0.0.0/1"]).length, 3 * 2 ** 14);
});

test("who looks at the same time looks elsewhere", () => {
  const firsts = ["a-0", "b-0", "c-0", "d-0"].map((name) => allOf([], name)[0]);

  assert.equal(new Set(firsts).size, firsts.length);
});
