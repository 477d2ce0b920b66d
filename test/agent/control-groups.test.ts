import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  countMemoryKills,
  findGroupPlaces,
  groupsOf,
  isMemoryLimited,
  makeGroups,
  memoryGroupsOf,
} from "../../agent/control-groups.ts";

/** Stands for the hierarchies: their files are asked for as the kernel's are. */
const mounted = mkdtempSync(join(tmpdir(), "groups-"));
after(() => rmSync(mounted, { recursive: true }));

function aGroup(path: string): string {
  mkdirSync(join(mounted, path), { recursive: true });
  writeFileSync(join(mounted, path, "cgroup.procs"), "");
  return join(mounted, path);
}

const own = aGroup("system.slice/x.service");
const memory = aGroup("memory/x");

const mountinfo = (top: string) => `24 18 0:6 / /proc rw,nosuid shared:5 - proc proc rw
30 24 0:26 ${top} ${mounted} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
31 24 0:27 / ${mounted}/memory rw,nosuid - cgroup cgroup rw,memory
32 24 0:28 / ${mounted}/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct
`;
const pathsOf = (cgroup: string, mounts: string) =>
  findGroupPlaces(cgroup, mounts).map(({ path }) => path);

test("an agent makes control groups below its own ones", () => {
  const cgroup = "5:memory:/x\n1:cpu,cpuacct:/\n0::/system.slice/x.service\n";

  assert.deepEqual(pathsOf(cgroup, mountinfo("/")), [own, memory]);
  assert.deepEqual(pathsOf("0::/box/system.slice/x.service\n", mountinfo("/box")), [own]);
});

test("an agent that systemd put below the group of its unit makes others beside it", () => {
  aGroup("system.slice/x.service/agent");
  aGroup("user.slice/agent");

  assert.deepEqual(pathsOf("0::/system.slice/x.service/agent\n", mountinfo("/")), [own]);
  const elsewhere = [join(mounted, "user.slice/agent")];
  assert.deepEqual(pathsOf("0::/user.slice/agent\n", mountinfo("/")), elsewhere);
});

test("where an agent may make none there are no control groups", () => {
  for (const [cgroup = "", mounts = ""] of [
    ["0::/\n", mountinfo("/")],
    ["0::/elsewhere\n", mountinfo("/")],
    ["0::/boxes/system.slice/x.service\n", mountinfo("/box")],
    ["0::/../system.slice/x.service\n", mountinfo("/")],
    ["1:cpu,cpuacct:/system.slice/x.service\n", mountinfo("/")],
    ["0::/system.slice/x.service\n", "24 18 0:6 / /proc rw - proc proc rw\n"],
  ])
    assert.deepEqual(pathsOf(cgroup, mounts), [], cgroup);
});

test("each folder of scripts has control groups of its own, with a name that people can read", () => {
  const places = findGroupPlaces("5:memory:/x\n0::/system.slice/x.service\n", mountinfo("/"));
  const limits = { memoryBytes: 1 };
  const first = groupsOf(places, "/nodes/a/.outrigger/jobs/3");

  assert.deepEqual(groupsOf([], "/nodes/a/.outrigger/jobs/3", limits), []);
  assert.match(first[0] ?? "", /\/system\.slice\/x\.service\/outrigger-jobs-3-[0-9a-f]{12}$/);
  assert.notDeepEqual(first, groupsOf(places, "/nodes/b/.outrigger/jobs/3"));
  assert.equal(groupsOf(places, "/nodes/a/.outrigger/jobs/3", limits).length, 2);
});

test("the limits of a job are written where its hierarchy has them", () => {
  writeFileSync(join(own, "cgroup.subtree_control"), "cpu pids");
  const folder = join(mounted, "nodes/a/jobs/4");
  mkdirSync(folder, { recursive: true });
  const places = [
    { path: own, version: 2, controllers: ["cpu", "pids"] },
    { path: memory, version: 1, controllers: ["memory"] },
  ] as const;
  const limits = { memoryBytes: 2 ** 30, cpus: 1.5, processes: 100 };
  const groups = groupsOf(places, folder, limits);
  makeGroups(places, folder, groups, limits);

  const [unified = "", apart = ""] = groups;
  assert.equal(readFileSync(join(apart, "memory.limit_in_bytes"), "utf8"), "1073741824");
  assert.equal(readFileSync(join(unified, "cpu.max"), "utf8"), "150000");
  assert.equal(readFileSync(join(unified, "pids.max"), "utf8"), "100");
  assert.equal(existsSync(join(apart, "pids.max")), false);
  assert.deepEqual(groupsOf([], folder), groups);

  writeFileSync(join(apart, "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  assert.equal(countMemoryKills(groups), 2);
});

test("memory is limited by a group or one above it, and a huge number is no limit", () => {
  const group = aGroup("limits/scope/container");
  writeFileSync(join(group, "memory.max"), "max\n");
  writeFileSync(join(group, "memory.limit_in_bytes"), "9223372036854771712\n");
  assert.equal(isMemoryLimited(group), false);

  writeFileSync(join(group, "../memory.max"), "67108864\n");
  assert.equal(isMemoryLimited(group), true);
});

const files = {
  1: {
    limit: "memory.limit_in_bytes",
    none: "9223372036854771712",
    kills: "memory.oom_control",
    text: "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
    cgroup: (path: string) => `9:memory:${path}\n0::${path}\n`,
    mounts: (top: string) => `31 24 0:27 / ${top} rw - cgroup cgroup rw,memory\n`,
  },
  2: {
    limit: "memory.max",
    none: "max",
    kills: "memory.events",
    text: "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 1\n",
    cgroup: (path: string) => `0::${path}\n`,
    mounts: (top: string) => `30 24 0:26 / ${top} rw - cgroup2 cgroup2 rw,nsdelegate\n`,
  },
} as const;

for (const version of [1, 2] as const)
  test(`version ${version} tells the memory limit of a container, and how many were killed for it`, () => {
    const { limit, none, kills, text, cgroup, mounts } = files[version];
    const top = aGroup(`version${version}`);
    const group = aGroup(`version${version}/docker/c1`);
    const limitedBy = (value: string) => {
      writeFileSync(join(group, limit), `${value}\n`);
      return memoryGroupsOf(process.pid, cgroup("/docker/c1"), mounts(top));
    };
    writeFileSync(join(group, kills), text);

    assert.deepEqual(limitedBy(none), []);
    assert.deepEqual(limitedBy("67108864"), [group]);
    assert.equal(countMemoryKills([group]), 3);
    const places = [{ path: top, version, controllers: ["memory"] }];
    makeGroups(places, mounted, [join(top, "job")], { memoryBytes: 2 ** 26 });
    assert.equal(readFileSync(join(top, "job", limit), "utf8"), "67108864");
  });

test("a group that is removed while its kills are counted had none", () => {
  const group = aGroup("removed");
  mkdirSync(join(group, "memory.events"));
  assert.equal(countMemoryKills([group]), 0);
});
