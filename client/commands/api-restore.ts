import { spawnSync } from "node:child_process";
import { AppError } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { programArgs } from "../../common/programs.ts";
import { Restoration } from "../../contract/restoration.ts";
import { controlEnv } from "../control-process.ts";
import { restorationForm } from "../output/control.ts";
import { causeIn } from "../start-control.ts";
import type { Run } from "../world.ts";
import { answerOne } from "./answers.ts";

/** `outrigger api restore`. */
export const restore: Run<object> = async (world, operands) => {
  const args = [...programArgs("control"), "restore", ...operands];
  const env = controlEnv(world.env, world.settings, {});
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  if (status !== 0) throw causeIn(stderr) ?? new AppError("RuntimeError", stderr.trim());
  const restored = Restoration.parse(JSON.parse(stdout));
  if (world.json) return answerOne(world, {}, restorationForm, restored);
  const { terminal } = world;
  terminal.answer(`Restored ${restored.database} from ${restored.copy}.`);
  if (restored.previous_database !== null)
    terminal.answer(`The previous database is at ${restored.previous_database}`);
  terminal.answer(`Changes since ${restored.copied_at} are lost.`);
  terminal.note(
    `Next: ${product.word} api start, then ${product.word} api orphans, for clusters created since.`,
  );
};
