import { openTurnsByKey } from "../../common/turns.ts";
import type { Agent } from "../context.ts";

/** One change of what lies at destinations after the other, so that each is what one of them says. */
export const inTurn = openTurnsByKey<Agent>();
