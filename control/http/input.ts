import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import { AppError } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
import { wordsOf } from "../../contract/issue-words.ts";

/** One thing that is wrong with an input: where, what, and its kind. */
export interface InputIssue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** An input that does not fit its row; answered 422. */
export const invalidInput = (issues: InputIssue[]): AppError =>
  new AppError("InvalidTaskError", issues.map(lineOf).join("\n"), { issues });

/** More are not reported for each place: a reader corrects the first ones and asks again. */
const issuesAtMost = 50;

const lineOf = ({ loc, msg }: InputIssue): string => `${loc.join(".")}: ${msg}`;

const places = ["path", "query", "header", "body"] as const;
type Place = (typeof places)[number];

/** The flat, checked input of a call; throws every issue of path, query, headers and body at once. */
export function readInput(row: Operation, req: FastifyRequest): InputOf<Operation> {
  const { input } = row;
  const given: Record<Place, unknown> = {
    path: req.route?.path,
    query: req.query,
    header: req.headers,
    body: req.body ?? (input.bodyOptional === true ? {} : undefined),
  };
  const issues: InputIssue[] = [];
  const fields: Record<string, unknown> = {};
  for (const place of places) {
    const shape = input[place];
    if (shape === undefined) continue;
    const parsed = shape.safeParse(given[place], { reportInput: true });
    if (parsed.success) Object.assign(fields, parsed.data);
    else
      issues.push(
        ...parsed.error.issues.slice(0, issuesAtMost).map((issue) => toIssue(place, issue)),
      );
  }
  if (issues.length > 0) throw invalidInput(issues);
  return fields;
}

/** Of a key in a caller's map; the names of our own fields are shorter. */
const shownCharacters = 80;

function toIssue(place: Place, issue: z.core.$ZodIssue): InputIssue {
  const loc = [
    place,
    ...issue.path.map((part) =>
      typeof part === "number" ? part : String(part).slice(0, shownCharacters),
    ),
  ];
  if (issue.input === undefined)
    return {
      loc,
      msg: issue.path.length > 0 ? "is required" : "a JSON body is required",
      type: "missing",
    };
  return { loc, msg: wordsOf(issue), type: issue.code ?? "invalid" };
}
