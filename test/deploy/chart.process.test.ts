import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { readConfig } from "../../control/config.ts";

const module = "helm.sh/helm/v3/cmd/helm@v3.18.6";
const places = ["helm", join(homedir(), "go/bin/helm")];
const found = places.find((place) => spawnSync(place, ["version"]).status === 0);
const skip = found === undefined && `helm is not installed: go install ${module}`;
const chart = join(import.meta.dirname, "../../deploy/helm");

const withTls = { tls: { secretName: "certificate" } };
const everything = {
  ...{ ...withTls, login: "token,oidc", firstAdmin: "ann", publicUrl: "https://control.example" },
  oidc: { issuer: "https://id.example", clientId: "it", secretName: "client" },
  ingress: { enabled: true, host: "control.example", tlsSecretName: "host", className: "nginx" },
  ...{ imagePullSecrets: ["pull"], proxyAddresses: ["10.42.0.0/16"] },
  ...{ rbac: { namespaces: ["research"] }, settings: { OUTRIGGER_AUDIT_DAYS: "90" } },
  ...{ nodeSelector: { disk: "ssd" }, persistence: { storageClass: "fast" } },
};

interface Entry {
  readonly name: string;
  readonly value: string;
}

function helm(command: readonly string[], values: object) {
  const input = JSON.stringify(values);
  // Built from source, Helm takes an old Kubernetes for what it speaks to.
  const words = [...command, "--values", "-", "--kube-version", "1.34.0"];
  return spawnSync(found ?? "", words, { encoding: "utf8", input });
}

/** The objects that an installation makes, by kind. */
function objectsOf(values: object) {
  const { status, stdout, stderr } = helm(["template", "release", chart], values);
  assert.equal(status, 0, stderr);
  const objects = parseAllDocuments(stdout).map((document) => document.toJS());
  return new Map(objects.map((object) => [object.kind, object]));
}

for (const [name, values] of Object.entries({ withTls, everything }))
  test(`the chart has nothing that Helm warns of: ${name}`, { skip }, () => {
    const { status, stdout } = helm(["lint", "--strict", chart], values);

    assert.equal(status, 0, stdout);
  });

test("control reads the settings that the chart gives it", { skip }, () => {
  const [container] = objectsOf(everything).get("StatefulSet").spec.template.spec.containers;

  const env = Object.fromEntries(container.env.map(({ name, value }: Entry) => [name, value]));
  const config = readConfig({ ...env, OUTRIGGER_HOME: "/data" });

  assert.equal(config.host, "0.0.0.0");
  assert.equal(config.port, container.ports[0].containerPort);
  assert.equal(config.firstAdmin, "ann");
  assert.equal(config.auditDays, 90);
});

test("every file that a setting names is mounted", { skip }, () => {
  const { containers, volumes } = objectsOf(everything).get("StatefulSet").spec.template.spec;
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

test("a value that the chart does not have is refused by name", { skip }, () => {
  const { status, stderr } = helm(["template", "release", chart], { ...withTls, replicas: 3 });

  assert.notEqual(status, 0);
  assert.match(stderr, /replicas/);
});

test("the service account may make pods in the namespaces that are named, and nothing with *", {
  skip,
}, () => {
  const objects = objectsOf(everything);

  assert.equal(objects.get("Role").metadata.namespace, "research");
  assert.equal(objects.get("RoleBinding").subjects[0].namespace, "default");
  const rules = ["Role", "ClusterRole"].flatMap((kind) => objects.get(kind).rules);
  assert.doesNotMatch(JSON.stringify(rules), /\*/);
  const secrets = rules.filter(({ resources }) => resources.includes("secrets"));
  assert.deepEqual(
    secrets.flatMap(({ verbs }) => verbs),
    ["create", "patch"],
    "it reads none",
  );
});

test("control runs without rights on its node, and writes only to its volumes", { skip }, () => {
  const { containers, securityContext } = objectsOf(withTls).get("StatefulSet").spec.template.spec;
  const [{ securityContext: own }] = containers;

  assert.equal(securityContext.runAsNonRoot, true);
  assert.equal(own.readOnlyRootFilesystem, true);
  assert.deepEqual(own.capabilities, { drop: ["ALL"] });
});
