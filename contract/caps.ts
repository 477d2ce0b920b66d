import * as z from "zod";
import { maxTextBytes } from "./task/yaml-text.ts";

/** The most that a field of an input may hold, unless its row says less. Every shape of an input has a cap. */
export const caps = {
  /** Characters of a name, an id, a pattern. */
  text: 1_024,
  /** Characters of a path in a file system, a cluster's name before it. */
  filePath: 5_000,
  /** Characters of a script, a command line, the value of a variable. */
  longText: 256 * 1024,
  /** Characters of a document, such as the YAML of a task. */
  document: maxTextBytes,
  /** Either way from zero. */
  integer: 2 ** 31 - 1,
  /** Bytes of a file, and offsets in it. */
  bytes: 2 ** 50,
  /** Ids of events, which are numbers. */
  eventId: 2 ** 50,
  /** Items of a list, entries of a map. */
  entries: 1_000,
  /** Values in data of any shape, counted at every depth, and the characters of their texts. */
  values: 10_000,
  characters: 256 * 1024,
} as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: few readers of our OpenAPI document know \0.
const noNul = /^[^\u0000]*$/;

/** Nothing that is handed to a file system or a process may have a NUL: there a text ends. */
const textOf = (most: number) => z.string().max(most).regex(noNul, "must not have a NUL character");

/** A name, an id, a pattern. */
export const text = textOf(caps.text);

/** A path in a file system. */
export const filePath = textOf(caps.filePath);

/** A script, a command line, the value of a variable. */
export const longText = textOf(caps.longText);

/** A whole document, such as the YAML of a task. */
export const document = z.string().max(caps.document);

/** The YAML of a task, of one with a service section, of one with a pool section. */
export const [taskText, serviceText, poolText] = [
  document.meta({ format: "task" }),
  document.meta({ format: "service-task" }),
  document.meta({ format: "pool-task" }),
];

/** A whole number. */
export const integer = z.int().min(-caps.integer).max(caps.integer);

/** A point in time, in Unix seconds. */
export const seconds = z.number().min(0).max(caps.bytes);

/** A size, or a place in a file. */
export const byteCount = z.int().min(0).max(caps.bytes);

/** A list. */
export const listOf = <T extends z.ZodType>(item: T) => z.array(item).max(caps.entries);

/** Values by name. */
export const mapOf = <T extends z.ZodType>(value: T) =>
  z
    .record(text, value)
    .refine((map) => Object.keys(map).length <= caps.entries, {
      error: `must have at most ${caps.entries} entries`,
      abort: true,
    })
    .meta({ maxProperties: caps.entries });

/** Limits data whose shape is not checked here, at every depth. */
export const small = <T extends z.ZodType>(shape: T) =>
  shape
    .refine(isSmall, `must have at most ${caps.values} values and ${caps.characters} characters`)
    .meta({ "x-maxValues": caps.values, "x-maxCharacters": caps.characters });

/** Settings of any shape, by name. */
export const settings = small(mapOf(z.unknown()));

/** Whether a value of any shape stays within its caps; stops counting once it does not. */
function isSmall(value: unknown): boolean {
  const left = [value];
  let values = 0;
  let characters = 0;
  while (left.length > 0) {
    const one = left.pop();
    values += 1;
    if (typeof one === "string") characters += one.length;
    if (typeof one === "object" && one !== null)
      for (const [key, item] of Object.entries(one)) {
        characters += key.length;
        left.push(item);
      }
    if (values + left.length > caps.values || characters > caps.characters) return false;
  }
  return true;
}
