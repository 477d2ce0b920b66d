import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findOwnGroup, groupOf } from "../../agent/control-groups.ts";

/** Stands for the hierarchy: its files are asked for as the kernel's are. */
const mounted = mkdtempSync(join(tmpdir(), "groups-"));
after(() => rmSync(mounted, { recursive: true }));

const own = join(mounted, "system.slice/x.service");
mkdirSync(own, { recursive: true });
for (const name of ["cgroup.kill", "cgroup.procs"]) writeFileSync(join(own, name), "");

const mountinfo = (top: string) => `24 18 0:6 / /proc rw,nosuid shared:5 - proc proc rw
30 24 0:26 ${top} ${mounted} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`;

test("an agent makes control groups below its own one", () => {
  const cgroup = "1:cpu:/\n0::/system.slice/x.service\n";

  assert.equal(findOwnGroup(cgroup, mountinfo("/")), own);
  assert.equal(findOwnGroup("0::/box/system.slice/x.service\n", mountinfo("/box")), own);
});

test("where nothing was delegated there are no control groups", () => {
  for (const [cgroup, mounts] of [
    ["0::/\n", mountinfo("/")],
    ["0::/elsewhere\n", mountinfo("/")],
    ["0::/boxes/system.slice/x.service\n", mountinfo("/box")],
    ["0::/../system.slice/x.service\n", mountinfo("/")],
    ["1:cpu:/system.slice/x.service\n", mountinfo("/")],
    ["0::/system.slice/x.service\n", "24 18 0:6 / /proc rw - proc proc rw\n"],
  ])
    assert.equal(findOwnGroup(cgroup, mounts), undefined, cgroup);
});

test("each folder of scripts has a control group of its own, with a name that people can read", () => {
  const first = groupOf(own, "/nodes/a/.outrigger/jobs/3");
  const second = groupOf(own, "/nodes/b/.outrigger/jobs/3");

  assert.equal(groupOf(undefined, "/nodes/a"), undefined);
  assert.match(first ?? "", /\/system\.slice\/x\.service\/jobs-3-[0-9a-f]{12}$/);
  assert.notEqual(first, second);
  assert.equal(first, groupOf(own, "/nodes/a/.outrigger/jobs/3"));
});
