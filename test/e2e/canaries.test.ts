import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openClient } from "../../client/sdk.ts";
import { Secret } from "../../common/secret.ts";
import { workspaceOperations as workspaces } from "../../contract/operations/workspaces.ts";
import { until } from "../helpers/agent.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";
import { type Found, filesBelow, findIn, isPrivate, openCanaries, processes } from "./canary.ts";
import { clusterOf } from "./cluster.ts";
import { serviceOf } from "./service.ts";

/** Where a secret may be, and why. Whatever else is found is a leak. */
const allowed: readonly { what: RegExp; place: RegExp; why: string }[] = [
  {
    what: /^(task|service) /,
    place: /^environ of a workload$/,
    why: "a job, a hook or a replica has the secrets of its task, and what keeps its log",
  },
  {
    what: /^service key$/,
    place: /^environ of sidecar$/,
    why: "the sidecar compares it, and other users cannot read its environment",
  },
  {
    what: /^environment of control$/,
    place: /^environ of control$/,
    why: "control was started with it",
  },
  { what: /^OIDC client secret$/, place: /\/oidc-secret$/, why: "the file that the setting names" },
  { what: /^SSH private key$/, place: /\/ssh-keys\/lab-key$/, why: "SSH reads it from a file" },
  {
    what: /^(token made|token rotated|session)$/,
    place: /^answer that makes it$/,
    why: "it is shown once",
  },
];

const isAllowed = ({ what, place }: Found) =>
  allowed.some((one) => one.what.test(what) && one.place.test(place));

test("no secret is found where it must not be", { timeout: 400_000 }, async (t) => {
  const canaries = openCanaries();
  const { of } = canaries;
  const control = await startControl(t, {
    env: {
      ...{ LOG_LEVEL: "debug", OUTRIGGER_LOGIN: "password,token" },
      AWS_SECRET_ACCESS_KEY: of("environment of control"),
    },
  });
  const home = control.home;
  const at = (name: string) => join(home, name);
  const homeToken = readFileSync(at("token"), "utf8").trim();
  const client = openClient({
    endpoint: control.endpoint,
    origin: "a test",
    token: new Secret(homeToken),
  });
  t.after(() => client.close());
  const answers: [string, Buffer][] = [];
  const send = sender(control, homeToken, answers);
  const as: Pick<TestControl, "client"> & TestControl = { ...control, client, pid: control.pid };

  const look = () => {
    const found = findIn(canaries.all, [...filesBelow(home), ...processes(), ...answers]);
    assert.deepEqual(
      found.filter((one) => !isAllowed(one)),
      [],
    );
    return found;
  };

  await t.test("of users, tokens and logins", async () => {
    const password = of("password of a user");
    await send("POST", "/users/create", { username: "ann", password, role: "user" });
    await send("POST", "/users/import", {
      csv_content: `username,password,role\nbob,${of("password in a CSV")},user\n`,
    });
    await send("POST", "/users/create", {
      username: "ann",
      password: of("password of a taken name"),
    });
    await send("POST", "/users/create", {
      username: "eve",
      password: [of("password of a wrong type")],
    });
    await send("POST", "/users/import", {
      csv_content: `name;pass\nx;${of("password in a wrong CSV")}`,
    });
    const { token, token_id } = (await send(
      "POST",
      "/users/service-account-tokens",
      { token_name: "ci" },
      { isMaking: true },
    )) as Record<string, string>;
    canaries.all.push({ what: "token made", value: token ?? "" });
    const rotated = (await send(
      "POST",
      "/users/service-account-tokens/rotate",
      { token_id },
      { isMaking: true },
    )) as Record<string, string>;
    canaries.all.push({ what: "token rotated", value: rotated["token"] ?? "" });
    const authorization = `Bearer ${rotated["token"]}`;
    await send("GET", "/users/role", undefined, { headers: { authorization } });
    for (const [what, headers] of Object.entries({
      "wrong token": { authorization: `Bearer sky_outrigger_${of("wrong token")}` },
      "wrong password": { authorization: `Basic ${btoa(`ann:${of("wrong password of Basic")}`)}` },
      "right password": { authorization: `Basic ${btoa(`ann:${password}`)}` },
      "wrong cookie": { cookie: `outrigger_session=${of("cookie of no session")}` },
      "odd header": { "x-api-key": of("header that means nothing") },
    }))
      await send("GET", `/users/role?what=${encodeURIComponent(what)}`, undefined, { headers });
    await send("GET", `/users/role?token=${of("token in a query")}`);
    const wrong = new URLSearchParams({
      name: "ann",
      password: of("wrong password of the page"),
    });
    await send("POST", "/login", wrong);
    const session = await send("POST", "/login", new URLSearchParams({ name: "ann", password }), {
      isMaking: true,
    });
    canaries.all.push({ what: "session", value: sessionIn(session) });
    look();
  });

  await t.test("of tasks, hooks, settings and errors that quote what was sent", async () => {
    const cluster = clusterOf(as, "demo");
    const task = JSON.stringify({
      name: "t",
      secrets: { TOKEN: of("task secret") },
      config: {
        hooks: [{ events: ["stop", "down"], run: `test -n "$TOKEN"; touch ${at("hooked")}` }],
      },
      run: `touch ${at("runs")}; sleep 987`,
    });
    const settings = {
      env_vars: {
        AWS_SECRET_ACCESS_KEY: of("environment of a caller"),
        OUTRIGGER_TOKEN: of("token of a caller"),
      },
      override_outrigger_config: { docker: { password: of("settings of a caller") } },
    };
    const id = await send(
      "POST",
      "/launch",
      { cluster_name: "demo", task, ...settings },
      { id: true },
    );
    await send("GET", `/api/get?request_id=${id}`);
    await until(() => existsSync(at("runs")) || undefined);
    look();
    const registry = { SKYPILOT_DOCKER_USERNAME: "ann", SKYPILOT_DOCKER_SERVER: "docker.io" };
    for (const [what, wrong] of Object.entries({
      "task with a registry": JSON.stringify({
        ...{ run: "true", resources: { image_id: "docker:ubuntu" } },
        secrets: { ...registry, SKYPILOT_DOCKER_PASSWORD: of("task password of a registry") },
      }),
      "task of a wrong form": `secrets: {TOKEN: ${of("task of a wrong form")}\nrun: [`,
      "task secret in a list": JSON.stringify({ run: "x", secrets: [of("task secret in a list")] }),
      "task secret as a field": JSON.stringify({
        run: "x",
        secrets: { T: { deep: of("task secret that is a map") } },
      }),
    }))
      await send("POST", "/exec", { cluster_name: what, task: wrong });
    const config = { docker: { password: of("password in the configuration") } };
    const changed = client.callAndGet(workspaces.updateConfig, { config });
    answers.push(["answer to workspaces.update_config", Buffer.from(await shownOf(changed))]);
    const now = client.callAndGet(workspaces.getConfig, {});
    answers.push(["answer to workspaces.get_config", Buffer.from(await shownOf(now))]);
    await cluster.cancel(1);
    await cluster.down();
    look();
  });

  await t.test("of services and SSH pools", async () => {
    const service = serviceOf(as, "chat");
    const task = JSON.stringify({
      resources: { ports: 8080 },
      service: { replicas: 1, readiness_probe: "/", auth: { api_key: "$API_KEY" } },
      secrets: { API_KEY: of("service key") },
      run: "sleep 987",
    });
    await service.up(task);
    writeFileSync(at("oidc-secret"), of("OIDC client secret"), { mode: 0o600 });
    await send("POST", "/ssh_node_pools", {
      lab: { hosts: [{ ip: "127.0.0.1", user: "ann", password: of("password of an SSH host") }] },
    });
    const form = new FormData();
    form.set("key_name", "lab-key");
    form.set(
      "key_file",
      new Blob([`-----BEGIN OPENSSH PRIVATE KEY-----\n${of("SSH private key")}\n`]),
      "lab-key",
    );
    await send("POST", "/ssh_node_pools/keys", form);
    await send("GET", "/ssh_node_pools");
    await send("POST", "/ssh_node_pools/lab/deploy", {});
    await service.until(({ replica_info }) => replica_info.length > 0);
    look();
    await service.down();
  });

  await t.test("after control crashed, and in what it shows then", async () => {
    await control.end("SIGSEGV");
    look();
    await control.start();
    for (const path of [
      "/api/status?all_status=true",
      "/users",
      "/users/export",
      "/audit?limit=1000",
      "/ssh_node_pools",
    ])
      await send("GET", path);
    await control.cli("api", "info");
    const found = look();
    const files = found.map(({ place }) => place).filter((place) => place.startsWith(home));
    assert.deepEqual(
      files.filter((file) => !isPrivate(file)),
      [],
    );
    const whats = new Set(found.map(({ what }) => what));
    assert.deepEqual(
      [
        "environment of control",
        "OIDC client secret",
        "SSH private key",
        "session",
        "token made",
      ].filter((what) => !whats.has(what)),
      [],
      "what is allowed somewhere is found there",
    );
    assert.ok(canaries.all.length > 25, `${canaries.all.length}`);
  });
});

/** Sends calls to control as its operator, and keeps what was answered. */
function sender({ endpoint }: TestControl, homeToken: string, answers: [string, Buffer][]) {
  return async (
    method: string,
    path: string,
    body?: object,
    {
      headers = {},
      isMaking = false,
      id = false,
    }: { headers?: Record<string, string>; isMaking?: boolean; id?: boolean } = {},
  ): Promise<unknown> => {
    const isForm = body instanceof FormData || body instanceof URLSearchParams;
    const answer = await fetch(`${endpoint}${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(Object.hasOwn(headers, "cookie") ? {} : { authorization: `Bearer ${homeToken}` }),
        ...(body && !isForm ? { "content-type": "application/json" } : {}),
        ...headers,
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const told = [...answer.headers].map((pair) => pair.join(": ")).join("\n");
    answers.push([
      isMaking ? "answer that makes it" : `answer to ${method} ${path}`,
      Buffer.from(`${told}\n${text}`),
    ]);
    if (id) return answer.headers.get("x-outrigger-request-id");
    return isMaking && isForm ? told : (orText(text) as unknown);
  };
}

const shownOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then((value) => JSON.stringify(value), String);

function orText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const sessionIn = (headers: unknown): string =>
  /outrigger_session=([^;]+)/.exec(String(headers))?.[1] ?? assert.fail(`no session: ${headers}`);
