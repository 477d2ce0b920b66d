/** How a unit that comes with us is changed for one installation. */
export interface Installation {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Whom it runs as; null in the unit of a user's own systemd. */
  readonly user: string | null;
  /** Settings beside those that the unit has. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a user's own systemd cannot do, or orders against units that only the machine's has. */
const forTheMachine = /^(User|Wants|After|OOMScoreAdjust|CapabilityBoundingSet|KeyringMode)=/;

/**
 * The text of a unit for an installation: its own command, user and settings in place of ours, and
 * without the comments, which are about ours.
 */
export function fitUnit(text: string, { command, user, env }: Installation): string {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const own: readonly (readonly [RegExp, readonly string[]])[] = [
    [/^User=/, user === null ? [] : [`User=${user}`]],
    [
      /^ExecStart=/,
      [
        `ExecStart=${command.map(quotedCommand).join(" ")}`,
        ...settings.map((setting) => `Environment=${quoted(setting)}`),
      ],
    ],
    [/^WantedBy=/, [`WantedBy=${user === null ? "default" : "multi-user"}.target`]],
  ];
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#") && (user !== null || !forTheMachine.test(line)))
    .flatMap((line) => own.find(([pattern]) => pattern.test(line))?.[1] ?? [line])
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** A word as units write it. Source: systemd.syntax(7), systemd.unit(5) "Specifiers". */
function quoted(word: string): string {
  const text = word.replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** In a command a dollar begins a variable. Source: systemd.service(5) "Command lines". */
const quotedCommand = (word: string): string => quoted(word).replaceAll("$", "$$$$");
