import assert from "node:assert/strict";
import { test } from "node:test";
import { hasOpenBody, isAudited, type Operation } from "../../../common/operation.ts";
import { operations } from "../../../contract/api.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { sshNodePoolOperations as pools } from "../../../contract/operations/ssh-node-pools.ts";
import { userOperations as users } from "../../../contract/operations/users.ts";
import { nounOf, subjectOf } from "../../../control/audit/subject.ts";

/** Audited operations whose input names nothing, and why. */
const withoutSubject: Readonly<Record<string, string>> = {
  "ssh_node_pools.list_keys": "it is about all keys",
  "ssh_node_pools.upload_key": "the name of the key comes within the file",
  status_kubernetes: "it is about all clusters of Kubernetes",
  "users.export": "it is about all users",
  "users.import": "the names come within the file",
  "workspaces.update_config": "it is about the whole configuration",
  orphans: "it is about all orphans",
};

const namesSomething = (row: Operation): boolean => {
  const { path, query, body } = row.input;
  const fields = Object.keys({ ...path?.shape, ...query?.shape, ...body?.shape });
  return hasOpenBody(row) || fields.some((field) => nounOf(row, field) !== undefined);
};

for (const row of operations.filter(isAudited))
  test(`the log names what ${row.name} is about, or there is a reason why not`, () => {
    assert.notEqual(namesSomething(row), Object.hasOwn(withoutSubject, row.name));
  });

test("reasons why nothing is named belong to audited operations", () => {
  const names = operations.filter(isAudited).map(({ name }) => name);

  assert.deepEqual(
    Object.keys(withoutSubject).filter((name) => !names.includes(name)),
    [],
  );
});

const subject = (row: Operation, input: object) => subjectOf(row, input as never);

test("a subject is the things that a call names, by their nouns", () => {
  assert.equal(subject(clusters.stop, { cluster_name: "demo" }), "cluster demo");
  assert.equal(
    subject(clusters.cancel, { cluster_name: "demo", job_ids: [3, 4] }),
    "cluster demo; jobs 3, 4",
  );
  assert.equal(subject(jobs.launch, { task: "run: true", name: "train", pool: null }), "job train");
  assert.equal(subject(pools.update, { lab: {}, attic: {} }), "pools lab, attic");
  assert.equal(subject(clusters.launch, { task: "run: true", cluster_name: null }), null);
});

test("a subject tells which role is given and that a password is, and not the password", () => {
  const input = { user_id: "u1", role: "admin", password: "canary" };

  assert.equal(subject(users.update, input), "user u1: role admin, password");
});
