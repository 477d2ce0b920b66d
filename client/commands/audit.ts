import { fail } from "../../common/errors.ts";
import { caps } from "../../contract/caps.ts";
import { auditOperations as rows } from "../../contract/operations/audit.ts";
import type { AuditEntry, AuditPage, AuditVerdict } from "../../contract/records/audit.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { auditForm, verdictForm } from "../output/audit.ts";
import { type Column, localTime } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerOne, answerRows, pick } from "./answers.ts";
import { watch } from "./watch.ts";

type AuditOptions = OptionsOf<"audit">;

const usualLimit = 50;

/** `outrigger audit`. */
export const audit: Command<"audit"> = async (world, _operands, options) => {
  if (options.watch && (options.verify || options.output === "ndjson"))
    fail("UsageError", "-w lists entries; leave --verify and -o ndjson out");
  if (options.verify) return verify(world, options);
  if (options.expectHash !== undefined) fail("UsageError", "--expect-hash needs --verify");
  if (options.output === "ndjson") return exportAll(world, options);
  if (options.watch) return watch(world, null, (page) => showEntries(page, options));
  return showEntries(world, options);
};

async function showEntries(world: World, options: AuditOptions): Promise<undefined> {
  const entries: AuditEntry[] = [];
  for await (const page of pagesOf(world, options, options.limit ?? usualLimit))
    entries.push(...page);
  answerRows(world, options, {
    form: auditForm,
    rows: entries,
    columns,
    empty: "No such entries.",
  });
}

const columns: readonly Column<AuditEntry>[] = [
  { title: "WHEN", text: ({ at }) => localTime(at), style: () => "dim" },
  { title: "USER", text: (entry) => entry.user_name || entry.user_id || "-", least: 8 },
  { title: "OPERATION", text: ({ operation }) => operation, least: 8 },
  { title: "SUBJECT", text: ({ subject }) => subject ?? "-", least: 12 },
  {
    title: "OUTCOME",
    text: ({ outcome, reason }) => [outcome, reason].filter(Boolean).join(": "),
    style: ({ outcome }) => (outcome === "refused" ? "red" : undefined),
    least: 12,
    wraps: true,
  },
  { title: "FROM", text: ({ address }) => address || "-", spare: true },
  { title: "WITH", text: ({ credential }) => credential || "-", spare: true },
];

/** Prints entries as they come: there may be more than fit into memory. */
async function exportAll(world: World, options: AuditOptions): Promise<undefined> {
  const { limit = Number.POSITIVE_INFINITY, fields } = options;
  for await (const page of pagesOf(world, options, limit))
    for (const entry of page) world.terminal.answer(JSON.stringify(pick(auditForm, entry, fields)));
}

/** Entries, newest first, page by page. */
async function* pagesOf(
  world: World,
  { user, operation, refused = false, since }: AuditOptions,
  limit: number,
): AsyncGenerator<AuditEntry[]> {
  const client = await world.connect();
  const from = (since?.getTime() ?? 0) / 1_000;
  let before: number | undefined;
  for (let left = limit; left > 0; ) {
    const page = Math.min(left, caps.entries);
    const input = { user, operation, refused: String(refused), before, limit: page };
    const { entries }: AuditPage = await client.call(rows.list, input);
    const recent = entries.filter(({ at }) => at >= from);
    yield recent;
    if (entries.length < page || recent.length < entries.length) return;
    left -= entries.length;
    before = entries.at(-1)?.seq;
  }
}

/** Checks the whole chain; the exit code says whether it is whole. */
async function verify(world: World, options: AuditOptions): Promise<number> {
  const { expectHash } = options;
  const verdict = await verifyAll(world, expectHash?.toLowerCase());
  const { terminal } = world;
  if (world.json) answerOne(world, options, verdictForm, verdict);
  else if (verdict.broken !== null) terminal.note(`The audit log is broken: ${verdict.broken}.`);
  else {
    const checked = `${verdict.entries} ${verdict.entries === 1 ? "entry" : "entries"}`;
    terminal.answer(`${checked} verified; hash of the last: ${verdict.last_hash}`);
  }
  return verdict.broken === null ? 0 : 1;
}

async function verifyAll(world: World, expected: string | undefined) {
  const client = await world.connect();
  const whole = { entries: 0, last_hash: "", broken: null as string | null };
  let hasExpected = expected === undefined;
  for (let from: number | null | undefined; from !== null; ) {
    const stretch: AuditVerdict = await client.call(rows.verify, { from, expect_hash: expected });
    whole.entries += stretch.entries;
    whole.last_hash = stretch.last_hash;
    whole.broken = stretch.broken;
    hasExpected ||= stretch.has_expected;
    from = stretch.next;
  }
  if (!hasExpected)
    whole.broken ??= `no entry has the hash ${expected}: the end was cut off, or changed`;
  return whole;
}
