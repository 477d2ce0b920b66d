import assert from "node:assert/strict";
import { test } from "node:test";
import { openAddress } from "../../../../control/clusters/files/fetched.ts";
import type { Load } from "../../../../control/clusters/files/parcels.ts";
import type { Config } from "../../../../control/config.ts";
import type { Agent } from "../../../../control/doors/agent.ts";
import { startSource } from "../../../helpers/source-server.ts";

const { signal } = new AbortController();
const now = () => new Date("2030-01-01T00:00:00Z");
const agent = {
  call: async () => ({ size: 4, version: '"1"', hasRanges: true }),
} as unknown as Agent;

const open = async (uri: string, config: Partial<Config> = {}): Promise<Load> => {
  const parcel = { name: "~/x", destination: "~/x", uri, keys: undefined };
  const load = await openAddress({ config: config as Config, now }, parcel, signal);
  return load(agent, signal);
};

/** How nodes would fetch what is offered of an address. */
const sourcesOf = ({ entries, contents }: Load) =>
  contents.by !== "node"
    ? []
    : entries.flatMap((one) => (one.kind === "file" ? [contents.sourceOf(one)] : []));

test("a file of a web server is fetched without the parts of its address that are for others", async () => {
  const digest = "a".repeat(64);
  const load = await open(`https://ana:p%40ss@files.example/m.bin?v=1#sha256=${digest}`);
  const [source] = sourcesOf(load);

  assert.equal(source?.url, "https://files.example/m.bin?v=1");
  assert.equal(source.name, "~/x from https://files.example");
  assert.equal(source.headers["authorization"], `Basic ${btoa("ana:p@ss")}`);
  assert.equal(source.sha256, digest);
  assert.deepEqual(source.digest, { algorithm: "sha256", hex: digest });
  const [plain] = sourcesOf(await open("https://files.example/m.bin"));
  assert.deepEqual([plain?.digest, plain?.headers, plain?.version], [null, {}, '"1"']);
});

test("a prefix of a bucket brings the objects below it, and none whose keys only begin with the same letters", async (t) => {
  const store = await startSource(t);
  const keys = ["a/b/y", "a/x", "ab/z"];
  store.intercept = (req, res) => {
    const { searchParams } = new URL(req.url ?? "", store.url);
    const found = keys.filter((key) => key.startsWith(searchParams.get("prefix") ?? ""));
    const contents = found.map((key) => `<Contents><Key>${key}</Key><Size>4</Size></Contents>`);
    return Boolean(res.end(contents.slice(0, Number(searchParams.get("max-keys") ?? 9)).join("")));
  };
  const filesOf = async (uri: string) => {
    const { entries } = await open(uri, { gcsEndpoint: store.url });
    return entries.flatMap(({ kind, path }) => (kind === "file" ? [path] : []));
  };

  assert.deepEqual(await filesOf("gs://bucket/a"), ["b/y", "x"]);
  assert.deepEqual(await filesOf("gs://bucket/a/b/"), ["y"]);
  assert.deepEqual(await filesOf("gs://bucket/a/b/y"), [""]);
});

test("a bucket's objects are files and folders; one that cannot be a path is named", async (t) => {
  const store = await startSource(t);
  const contents = (...keys: string[]) =>
    keys.map((key) => `<Contents><Key>${key}</Key><Size>4</Size><ETag>"${key}"</ETag></Contents>`);
  let listed = contents("set/a", "set/sub/", "set/sub/b");
  store.intercept = (req, res) => {
    const isOfOne = req.url?.includes("max-keys=1");
    return Boolean(res.end(isOfOne ? "" : listed.join("")));
  };
  const config = { gcsEndpoint: store.url };

  const { entries } = await open("gs://bucket/set", config);

  assert.deepEqual(
    entries.map(({ kind, path }) => `${kind} ${path}`),
    ["folder ", "file a", "folder sub", "file sub/b"],
  );
  listed = contents("set/../../x");
  await assert.rejects(open("gs://bucket/set", config), {
    name: "ValueError",
    message: "gs://bucket/set: set/../../x cannot be a path on a node",
  });
  listed = [];
  await assert.rejects(open("gs://bucket/set", config), { name: "NotFoundError" });
});
