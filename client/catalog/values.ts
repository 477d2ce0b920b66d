import type { machineOptions, taskOptions } from "./options.ts";

/** `--all-users` as commander calls what it gives: `allUsers`. */
type Camel<Word> = Word extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Word;

type Long<Flags> = Flags extends `${string}--${infer Rest}` ? Rest : never;
type First<Text> = Text extends `${infer Word} ${string}` ? Word : Text;

/** What the value of an option is called; `--no-follow` gives `follow`. */
type NameOf<Flags> = Camel<
  First<Long<Flags>> extends `no-${infer Name}` ? Name : First<Long<Flags>>
>;

type ValueOf<Flags, Given> = Given extends { parse: (...texts: never) => infer Value }
  ? Value
  : Given extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Flags extends `${string}<${string}`
      ? string
      : Flags extends `${string}[${string}`
        ? string | true
        : boolean;

/** What options give on a command line. */
type ValuesOf<Given> = {
  readonly [Flags in keyof Given as NameOf<Flags>]?: ValueOf<Flags, Given[Flags]>;
};

/** The names of the commands in groups. */
export type NamesIn<Groups> = Groups extends unknown ? keyof Groups & string : never;

/** What the options of a command in one of these groups give. */
export type ValuesIn<Groups, Name> = Groups extends unknown
  ? Name extends keyof Groups
    ? Groups[Name] extends { readonly options: infer Given }
      ? ValuesOf<Given>
      : object
    : never
  : never;

/** Options that change the task: they win over its YAML. */
export type TaskOptions = ValuesOf<typeof taskOptions & typeof machineOptions>;
