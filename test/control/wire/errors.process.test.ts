import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError, errorTypes } from "../../../common/errors.ts";
import { encodeError, plainError } from "../../../control/wire/errors.ts";
import { pickleText } from "../../../control/wire/pickle.ts";
import { askPython, noPython } from "./python.ts";

const objectOf = (error: AppError): string => JSON.parse(encodeError(error)).object;

test("no error is null, as text", () => {
  assert.equal(encodeError(null), "null");
});

test("the record keeps our own type while clients rebuild the nearest they know", () => {
  const error = new AppError("InvalidTaskError", "task: run is missing; add it", { line: 3 });

  const { object, ...own } = JSON.parse(encodeError(error));

  assert.deepEqual(own, {
    type: "InvalidTaskError",
    message: "task: run is missing; add it",
    details: { line: 3 },
  });
  assert.ok(Buffer.from(object, "base64").includes("ValueError"));
});

test("the answer of /validate is plain JSON that fits the constructor", () => {
  assert.deepEqual(plainError(new AppError("ResourcesUnavailableError", "no H100 is free")), {
    type: "ResourcesUnavailableError",
    own_type: "ResourcesUnavailableError",
    message: "no H100 is free",
    args: ["no H100 is free"],
    attributes: { no_failover: false, failover_history: [] },
    stacktrace: null,
  });
});

test("a failed command has no args and tells what it ran", () => {
  const error = new AppError("CommandError", "rsync ended", { exitCode: 23, command: "rsync a b" });

  assert.deepEqual(plainError(error).args, []);
  assert.deepEqual(plainError(error).attributes, {
    returncode: 23,
    command: "rsync a b",
    error_msg: "rsync ended",
    detailed_reason: "",
  });
});

test("Python unpickles every type of ours", { skip: noPython }, () => {
  const types = Object.keys(errorTypes) as AppError["type"][];
  const objects = types.map((type) => objectOf(new AppError(type, `${type} broke`)));
  const messages = "[pickle.loads(base64.b64decode(text))['message'] for text in value]";

  const printed = askPython(pickleText(objects), `json.dumps(${messages})`);

  assert.deepEqual(
    JSON.parse(printed),
    types.map((type) => `${type} broke`),
  );
});

test("a cluster that is not up carries a member of the client's enum", { skip: noPython }, () => {
  const modules = {
    "sky.utils.status_lib":
      "import enum\nclass ClusterStatus(enum.Enum):\n  STOPPED = 'STOPPED'\n  UP = 'UP'",
  };
  const told = (status: string) =>
    askPython(
      objectOf(new AppError("ClusterNotUpError", "demo is not up", { status })),
      "value['args'], value['attributes']",
      modules,
    );

  assert.equal(
    told("STOPPED"),
    "(('demo is not up',), {'cluster_status': <ClusterStatus.STOPPED: 'STOPPED'>, 'handle': None})",
  );
  assert.match(told("AUTOSTOPPING"), /ClusterStatus.UP/);
  assert.match(told("GONE"), /'cluster_status': None/);
});

test("offers that were refused are exceptions of the client's in the history", {
  skip: noPython,
}, () => {
  const refusals = ["a/one (2 CPUs, 4 GB): no capacity", "b (2 CPUs, 4 GB): quota"];
  const modules = { "sky.exceptions": "class ResourcesUnavailableError(RuntimeError): pass" };

  const told = askPython(
    objectOf(new AppError("ResourcesUnavailableError", "no offer is left", { refusals })),
    "json.dumps([[type(one).__name__, str(one)] for one in value['attributes']['failover_history']])",
    modules,
  );

  assert.deepEqual(
    JSON.parse(told),
    refusals.map((text) => ["ResourcesUnavailableError", text]),
  );
});
