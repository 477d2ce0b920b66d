import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  encodedNull,
  global,
  instance,
  pickle,
  pickleText,
  tuple,
  type Value,
} from "../../../control/wire/pickle.ts";
import { askPython, noPython } from "./python.ts";

const hex = (value: Value) => pickle(value).toString("hex");

test("None is the constant that stands in every request record", () => {
  assert.equal(pickleText(null), encodedNull);
});

test("each kind of value has its opcodes", () => {
  assert.equal(hex(true), "8004882e");
  assert.equal(hex(-2), "80044afeffffff2e");
  assert.equal(hex(2 ** 31), "80048a0800000080000000002e");
  assert.equal(hex(0.5), "8004473fe00000000000002e");
  assert.equal(hex("é"), "80045802000000c3a92e");
  assert.equal(hex([1]), "80045d284a01000000652e");
  assert.equal(hex({ a: null }), "80047d285801000000614e752e");
  assert.equal(hex(tuple([])), "8004292e");
  assert.equal(hex(tuple([null, true])), "8004284e88742e");
  assert.equal(hex(global("m", "n")), "800458010000006d58010000006e932e");
  assert.equal(hex(call(global("m", "n"), [])), "800458010000006d58010000006e9329522e");
  assert.equal(hex(instance(global("m", "n"), {})), "800458010000006d58010000006e9329817d2875622e");
});

test("Python reads every plain value back", { skip: noPython }, () => {
  const value = {
    none: null,
    flags: [true, false],
    whole: [0, -1, 255, 2147483647, -2147483648, 2147483648, -9007199254740991],
    broken: [0.1, -1e300],
    text: ["", "naïve 🚢", "x".repeat(300)],
    nested: { list: [], dict: {}, pair: tuple(["a", tuple([])]) },
  };

  assert.equal(
    askPython(pickleText(value)),
    [
      "{'none': None, 'flags': [True, False], 'whole': [0, -1, 255, 2147483647, -2147483648,",
      " 2147483648, -9007199254740991], 'broken': [0.1, -1e+300], 'text': ['', 'naïve 🚢', '",
      "x".repeat(300),
      "'], 'nested': {'list': [], 'dict': {}, 'pair': ('a', ())}}",
    ].join(""),
  );
});

test("Python calls, imports dotted names and makes objects as told", { skip: noPython }, () => {
  const dotted = call(global("collections", "OrderedDict.fromkeys"), [["a", "b"], 7]);
  const made = instance(global("types", "SimpleNamespace"), { port: 22 });

  assert.equal(askPython(pickleText(dotted), "dict(value)"), "{'a': 7, 'b': 7}");
  assert.equal(askPython(pickleText(made), "value.port"), "22");
});
