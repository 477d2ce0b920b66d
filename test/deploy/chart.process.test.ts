import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../control/config.ts";
import { chart, helm, objectsOf, whyNoHelm } from "../helpers/helm.ts";

const skip = whyNoHelm();

const withTls = { tls: { secretName: "certificate" } };
const everything = {
  ...{ ...withTls, login: "token,oidc", firstAdmin: "ann", publicUrl: "https://control.example" },
  oidc: { issuer: "https://id.example", clientId: "it", secretName: "client" },
  ingress: { enabled: true, host: "control.example", tlsSecretName: "host", className: "nginx" },
  ...{ imagePullSecrets: ["pull"], proxyAddresses: ["10.42.0.0/16"] },
  ...{ settings: { OUTRIGGER_AUDIT_DAYS: "90" }, nodeSelector: { disk: "ssd" } },
  persistence: { storageClass: "fast" },
};

interface Entry {
  readonly name: string;
  readonly value: string;
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const byKind = (values: object) =>
  new Map(objectsOf(values).map((object) => [object.kind, object]));

for (const [name, values] of Object.entries({ withTls, everything }))
  test(`the chart has nothing that Helm warns of: ${name}`, { skip }, () => {
    const { status, stdout } = helm(["lint", "--strict", chart], values);

    assert.equal(status, 0, stdout);
  });

test("control reads the settings that the chart gives it", { skip }, () => {
  const [container] = byKind(everything).get("StatefulSet").spec.template.spec.containers;

  const env = Object.fromEntries(container.env.map(({ name, value }: Entry) => [name, value]));
  const config = readConfig({ ...env, OUTRIGGER_HOME: "/data" });

  assert.equal(config.host, "0.0.0.0");
  assert.equal(config.port, container.ports[0].containerPort);
  assert.equal(config.firstAdmin, "ann");
  assert.equal(config.auditDays, 90);
  assert.equal(config.local, "off", "launches without infra do not run in the pod of control");
});

test("every file that a setting names is mounted", { skip }, () => {
  const { containers, volumes } = byKind(everything).get("StatefulSet").spec.template.spec;
  const [{ env, volumeMounts }] = containers;

  const files = env.filter(({ name }: Entry) => name.endsWith("_FILE"));
  for (const { value } of files)
    assert.ok(
      volumeMounts.some((mount: { mountPath: string }) => value.startsWith(mount.mountPath)),
    );
  assert.deepEqual(
    new Set(volumeMounts.map(({ name }: Entry) => name)),
    new Set([...volumes.map(({ name }: Entry) => name), "data"]),
  );
});

test("control is not installed where callers would speak plain HTTP to it", { skip }, () => {
  const { status, stderr } = helm(["template", "release", chart], {});

  assert.notEqual(status, 0);
  assert.match(stderr, /set tls.secretName, or proxyAddresses/);
});

test("control may label nodes only where it reads them", { skip }, () => {
  const rbac = { labelNodes: true, readNodes: false };
  const { status, stderr } = helm(["template", "release", chart], { ...withTls, rbac });

  assert.notEqual(status, 0);
  assert.match(stderr, /rbac.labelNodes needs rbac.readNodes/);
});

test("a value that the chart does not have is refused by name", { skip }, () => {
  const { status, stderr } = helm(["template", "release", chart], { ...withTls, replicas: 3 });

  assert.notEqual(status, 0);
  assert.match(stderr, /replicas/);
});

test("the service account may make pods in the release's namespace, list all, and nothing with *", {
  skip,
}, () => {
  const objects = byKind(everything);

  assert.equal(objects.get("Role").metadata.namespace, undefined);
  assert.equal(objects.get("RoleBinding").subjects[0].namespace, "default");
  const rules = ["Role", "ClusterRole"].flatMap((kind) => objects.get(kind).rules);
  assert.doesNotMatch(JSON.stringify(rules), /\*/);
  const { rules: everywhere } = objects.get("ClusterRole");
  assert.deepEqual(
    everywhere.map(({ resources, verbs }: Rule) => [resources, verbs]),
    [
      [["nodes"], ["get", "list"]],
      [["pods"], ["list"]],
    ],
  );
  const labelling = byKind({ ...withTls, rbac: { labelNodes: true } }).get("ClusterRole");
  assert.deepEqual(labelling.rules[0].verbs, ["get", "list", "patch"]);
  const secrets = rules.filter(({ resources }) => resources.includes("secrets"));
  assert.deepEqual(
    secrets.flatMap(({ verbs }) => verbs),
    ["create", "patch"],
    "it lists none",
  );
});

test("control runs without rights on its node, and writes only to its volumes", { skip }, () => {
  const { containers, securityContext } = byKind(withTls).get("StatefulSet").spec.template.spec;
  const [{ securityContext: own }] = containers;

  assert.equal(securityContext.runAsNonRoot, true);
  assert.equal(own.readOnlyRootFilesystem, true);
  assert.deepEqual(own.capabilities, { drop: ["ALL"] });
});
