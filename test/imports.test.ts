import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const rooms = ["common", "contract", "agent", "sidecar", "client", "control"].filter((room) =>
  existsSync(join(root, room)),
);
const linesAtMost = 300;
const readmeLinesAtMost = 60;

/** One import: who, what, and whether the types alone are taken. */
interface Edge {
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
}

interface Rule {
  /** Whose imports. */
  readonly room: RegExp;
  /** Files that it may import; whatever it imports must fit one of them. */
  readonly may: readonly RegExp[];
  /** Files of which it may take the types, but nothing that runs. */
  readonly types?: readonly RegExp[];
}

const shared = [/^common\//, /^contract\//];
/** What every noun of control builds on. */
const ground =
  /^control\/(access\/.*|buckets\/.*|repositories\/.*|settle-all|collect-offers|audit\/(entry|store)|bind|candidates|context|downloads|events|glob|ground|html|log-copy|map-in-batches|move|needs|offer-words|offers|reconciler|output-excerpt|task|want|wire\/.*|doors\/.*)(\.ts)?$/;
const noun =
  "(audit|clouds|clusters|jobs|recipes|requests|secrets|services|sessions|ssh-pools|storage|tokens|uploads|users|volumes|workspaces)";

/** Who may import whom. */
const rules: readonly Rule[] = [
  { room: /^common\//, may: [/^common\//] },
  { room: /^contract\//, may: shared },
  { room: /^agent\//, may: [...shared, /^agent\//] },
  { room: /^sidecar\//, may: [...shared, /^sidecar\//] },
  { room: /^client\//, may: [...shared, /^client\//] },
  {
    room: /^control\//,
    may: [...shared, /^control\//, /^sidecar\/(forward\/|head\.ts)/],
  },
  { room: /^control\/balancer\//, may: [...shared, /^sidecar\/(forward\/|head\.ts)/] },
  {
    room: new RegExp(`^control/${noun}/`),
    may: [
      ...shared,
      ground,
      new RegExp(`^control/${noun}/(schema|store|list-store|work-store|want)\\.ts$`),
      /^control\/db\/(lists|rows|statement)\.ts$/,
      // What makes clusters for other nouns.
      /^control\/clusters\/managed\.ts$/,
      // Who there is, and who may do what.
      /^control\/users\/(ensure|new-user|passwords|remove|roles|unchanged)\.ts$/,
      // The secrets that a task names.
      /^control\/secrets\/fill\.ts$/,
      // The volumes that a task names.
      /^control\/volumes\/place\.ts$/,
      // What a workspace says of the launches of other nouns.
      /^control\/workspaces\/(admit|defaults|find|use|use-store)\.ts$/,
    ],
    types: [/^control\/(providers\/provider|db\/open|db\/tables|db\/batch)\.ts$/],
  },
  {
    // Whom a thing belongs to is asked of the nouns.
    room: /^control\/access\//,
    may: [...shared, ground, new RegExp(`^control/${noun}/(schema|store|find|membership)\\.ts$`)],
  },
  {
    room: /^control\/buckets\//,
    may: shared,
    types: [/^control\/config\.ts$/],
  },
  {
    room: /^control\/repositories\//,
    may: [...shared, /^control\/buckets\/manifest\.ts$/],
    types: [/^control\/(config|ground)\.ts$/],
  },
  {
    room: /^control\/(providers|wire|doors|db)\//,
    may: [...shared, /^control\/(providers|wire|doors|db)\//],
    types: [/^control\/(config\.ts|log\.ts|([\w-]+\/)+schema\.ts)$/],
  },
  {
    room: /^control\/http\//,
    may: [
      ...shared,
      /^control\/(http|wire)\//,
      /^control\/(settle-all|bind|config|context|ground|html|log|login-settings)\.ts$/,
      /^control\/requests\/(end|run|schema|store)\.ts$/,
      // Who calls, whether they may, and what is written down of it.
      /^control\/(access|audit)\//,
      /^control\/[\w-]+\/authenticate\.ts$/,
      /^control\/workspaces\/(find|membership|schema)\.ts$/,
      /^control\/sessions\/(basic|proxy)\.ts$/,
    ],
  },
];

const statement = /^(?:import|export)\s+(type\s+)?([^;"]*?)\s*from\s+"(\.[^"]+)";/gm;

const files = rooms.flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(room, name)),
);
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
const edges = files.flatMap(edgesOf);

function edgesOf(from: string): Edge[] {
  const text = textOf(from);
  const at = (path: string) => normalize(join(dirname(from), path));
  const later = text.matchAll(/\bimport\("(\.[^"]+)"\)/g);
  return [
    ...[...text.matchAll(statement)].map(([, type, names = "", path = ""]) => ({
      ...{ from, to: at(path) },
      typesOnly: type !== undefined || /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names),
    })),
    ...[...later].map(([, path = ""]) => ({ from, to: at(path), typesOnly: false })),
  ];
}

const fits = (patterns: readonly RegExp[], file: string) => patterns.some((one) => one.test(file));

/** Within its noun or part, `control/clusters`, everyone may import everything. */
const isAtHome = ({ from, to }: Edge) => {
  const home = /^[\w-]+\/[\w-]+\//.exec(from)?.[0];
  return home !== undefined && to.startsWith(home);
};

for (const { room, may, types = [] } of rules)
  test(`${room.source} imports what it may, and nothing else`, () => {
    const wrong = edges.filter(
      (edge) =>
        room.test(edge.from) &&
        !isAtHome(edge) &&
        !fits(may, edge.to) &&
        !(edge.typesOnly && fits(types, edge.to)),
    );

    assert.deepEqual(
      wrong.map(({ from, to }) => `${from} imports ${to}`),
      [],
    );
  });

test("the rules are about files that are there", () => {
  const begun = rules.filter(({ room }) => !room.test("sidecar/"));
  for (const { room } of begun)
    assert.ok(
      files.some((file) => room.test(file)),
      room.source,
    );
  assert.ok(edges.length > 200);
});

test("only the story of control knows its HTTP edge", () => {
  const users = edges.filter(
    ({ from, to }) => to.startsWith("control/http/") && !from.startsWith("control/http/"),
  );

  assert.deepEqual([...new Set(users.map(({ from }) => from))], ["control/main.ts"]);
});

test("no files import each other in a circle, not even for their types", () => {
  const next = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) assert.fail(`${[...way.slice(way.indexOf(file)), file].join(" → ")}`);
    if (done.has(file)) return;
    for (const { to } of next.get(file) ?? []) visit(to, [...way, file]);
    done.add(file);
  };

  for (const file of files) visit(file, []);
});

test("every import leads to a file, by its whole name", () => {
  for (const { from, to } of edges) assert.ok(files.includes(to) || isAsset(to), `${from}: ${to}`);
});

const isAsset = (file: string): boolean => !rooms.includes(file.split("/")[0] ?? "");

test("no file only hands on what others export", () => {
  const barrels = files.filter((file) => {
    const code = textOf(file)
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
      .replace(/^(import|export)\s[^;"]*from\s+"[^"]+";$/gm, "")
      .trim();
    return code === "";
  });

  assert.deepEqual(barrels, []);
});

test(`no file has more than ${linesAtMost} lines`, () => {
  const linesIn = (file: string) => textOf(file).split("\n").length - 1;
  const everything = [...files, ...testFiles()];
  const long = everything.filter((file) => linesIn(file) > linesAtMost);

  assert.deepEqual(long, []);
});

test(`no README.md of a room has more than ${readmeLinesAtMost} lines`, () => {
  const readmes = rooms.map((room) => `${room}/README.md`);
  const long = readmes.filter((file) => textOf(file).split("\n").length - 1 > readmeLinesAtMost);

  assert.deepEqual(long, []);
});

const testFiles = (): string[] =>
  readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(relative(root, import.meta.dirname), name));

test("the environment is read by main programs alone", () => {
  const readers = files.filter((file) => /\bprocess\.env\b/.test(textOf(file)));

  for (const file of readers) assert.match(file, /^([a-z]+|control\/balancer)\/main\.ts$/);
});
