import { errorForm } from "../error-form.ts";
import { type Action, actionForm } from "../output/actions.ts";
import type { World } from "../world.ts";
import { answerJson } from "./answers.ts";
import type { Sent } from "./detached.ts";

/** Prints what was done, where the answer is to be JSON. */
export function tellActions(world: World, actions: readonly Action[]): undefined {
  if (world.json) answerJson(world, {}, actionForm, actions);
}

/** The same of what was done at once, without a request, to each of these. */
export const tellDone = (
  world: World,
  action: string,
  ...names: readonly (string | null)[]
): undefined =>
  tellActions(
    world,
    names.map((name) => directAction(action, name)),
  );

/** A request that control took, and what became of it. */
export const actionOf = (
  { action, name, id }: Sent<unknown>,
  outcome: Action["outcome"],
): Action => ({
  ...{ action, name: name ?? null, request_id: id, outcome },
  ...{ job_id: null, endpoint: null, error: null },
});

/** Something that failed; control may have refused it before there was a request. */
export const failedAction = (
  action: string,
  name: string,
  error: unknown,
  request_id: string | null = null,
): Action => ({
  ...{ action, name, request_id, outcome: "failed", job_id: null, endpoint: null },
  error: errorForm(error).error,
});

/** Something that was done at once, without a request. */
export const directAction = (
  action: string,
  name: string | null,
  outcome: Action["outcome"] = "done",
): Action => ({
  ...{ action, name, request_id: null, outcome },
  ...{ job_id: null, endpoint: null, error: null },
});
