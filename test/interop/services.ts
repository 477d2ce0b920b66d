import { type Step, step } from "./steps.ts";

const taskOf = (version: string) => `resources: {ports: 8080}
workdir: site
service:
  replicas: 2
  readiness_probe: /page.txt
run: |
  echo "the ${version} version"
  exec python3 -u -m http.server $PORT
`;

/** The service that is brought up, and what it is updated to. */
export const serviceFiles: Readonly<Record<string, string>> = {
  "site/page.txt": "a page\n",
  "service.yaml": taskOf("first"),
  "service-2.yaml": taskOf("second"),
};

const failed = { exitCode: 1 };
const patient = { isPatient: true };
const address = String.raw`http://127\.0\.0\.1:\d+`;
const isServed = (version: number) => new RegExp(`^web +${version} .* READY +2/2 +${address}`, "m");
const isReady = (replica: number, version: number) =>
  new RegExp(`^web +${replica} +${version} +${address} .* READY`, "m");
const isGone = (replica: number) => new RegExp(`^(?![^]*^web +${replica} +\\d+ +http)`);
const brings = (file: string, text: string) => ({ brings: { file, text } });

/** The life of a service, as a user of the existing client lives it; steps of one row meet. */
export const serviceSteps: readonly Step[][] = [
  [
    step("serve up -y -n web service.yaml", [
      new RegExp(`^Service web listens at ${address}`, "m"),
    ]),
  ],
  [step("serve status web", [isServed(1), isReady(1, 1), isReady(2, 1)], patient)],
  [
    step("status", [isServed(1)]),
    step("serve status -v web", [/Fixed-size \(2 replicas\) +least_load +any machine/]),
    step("serve status web --endpoint", [new RegExp(`^${address}\n$`)]),
    step("serve status none", [/Service 'none' not found/]),
    step("serve up -y -n web service.yaml", [/there is a service web; update it/], failed),
  ],
  [
    step("serve logs web --controller --no-follow", [/replica 2: READY: it answers its probe/]),
    step("serve logs web --load-balancer --no-follow", [/"program":"balancer"/]),
    step("serve logs web 2 --no-follow", [/^the first version$/m]),
    step("serve logs web 2 --no-follow --tail 1", [/^.*"GET \/page\.txt HTTP\/1\.1" 200 -\n$/]),
    step("serve logs web 9", [/service web has no replica 9/], failed),
    step("serve logs none 1 --no-follow", [/there is no service none/]),
  ],
  [
    step("serve logs web 1", [/^the first version$/m]),
    step("serve down -y web --replica-id 1", [/Replica 1 of web finishes/]),
    step("serve down -y web --replica-id 9", [/service web has no replica 9/], failed),
  ],
  [step("serve status web", [isServed(1), isReady(3, 1), isGone(1)], patient)],
  [step("serve logs web -s", [], brings("sky_logs/service/web_*/replica_3.log", "first version"))],
  [
    step("serve update -y web service-2.yaml", [/Service web goes to version 2: .*\(rolling\)/]),
    step("serve update -y none service-2.yaml", [/there is no service none/], failed),
  ],
  [step("serve status web", [isServed(2), isReady(5, 2), isGone(2), isGone(3)], patient)],
  [step("serve update -y --mode blue_green web service.yaml", [/version 3: .*\(blue_green\)/])],
  [step("serve status web", [isServed(3), isGone(5)], patient)],
  [
    step(
      "serve logs web 4 5 --controller -s",
      [],
      brings("sky_logs/service/web_*/controller.log", "replica 5: READY"),
    ),
  ],
  [
    step("serve down -y web", [/Service web is gone/]),
    step("serve down -y none", [/no service goes by the name none/i]),
  ],
  [
    step("serve status", [/No existing services/]),
    step("api status -a", [/\bsky\.serve\.up .*SUCCEEDED/, /\bsky\.serve\.update .*FAILED/]),
  ],
];
