/** The parts of Kubernetes objects that we read. Source: Kubernetes API reference, v1. */

export interface Meta {
  readonly name: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly resourceVersion?: string;
}

/** An object that the pods of a cluster have in common. */
export interface Shared {
  readonly apiVersion: string;
  readonly metadata: Pick<Meta, "name" | "labels">;
}

export interface ListOf<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: {
      readonly reason?: string;
      readonly message?: string;
      readonly exitCode: number;
    };
  };
}

export interface Pod {
  readonly metadata: Meta;
  readonly spec: {
    readonly nodeName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly tolerations?: readonly Toleration[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
        };
      };
    };
    readonly containers: readonly { readonly resources?: { readonly requests?: Amounts } }[];
  };
  readonly status: {
    readonly phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly Condition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export type Amounts = Readonly<Record<string, string>>;

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface KubeNode {
  readonly metadata: Meta;
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status: {
    readonly allocatable?: Amounts;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
}

export interface KubeEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

const suffixes: Readonly<Record<string, number>> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** A quantity as a number: `1930m`, `24677144Ki`. */
export function amountOf(quantity = "0"): number {
  const [, count = "0", suffix = ""] = /^([\d.]+(?:[eE]\d+)?)([A-Za-z]*)$/.exec(quantity) ?? [];
  return Number(count) * (suffixes[suffix] ?? 1);
}
