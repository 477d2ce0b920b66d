import type { ContainerOrder } from "../../../contract/containers-api.ts";
import type { Content, Entry, FetchedContent } from "../../../contract/files-api.ts";
import type { CacheOptions } from "../../../contract/mounts-api.ts";
import type { Keys } from "../../buckets/sigv4.ts";
import type { Agent } from "../../doors/agent.ts";
import type { Repository } from "../../repositories/git.ts";

/** Which of a task's files go along: a job on a cluster that is there brings its working folder alone. */
export type Scope = "all" | "workdir";

interface Addressed {
  /** `workdir`, or where it goes. */
  readonly name: string;
  readonly destination: string;
  /** The id of a storage that goes with the cluster. */
  readonly passing?: string | undefined;
}

/** Which of a user's uploaded files go to one place of the nodes of a cluster. */
export interface UploadedParcel extends Addressed {
  readonly userId: string;
  readonly blobId: string;
  /** Where it lies in the upload. */
  readonly place: string;
}

/** What nodes fetch from an address and put to one place. */
export interface FetchedParcel extends Addressed {
  readonly uri: string;
  /** Those that the task brought; without them, control's own. */
  readonly keys: Keys | undefined;
  /** Of Hugging Face. */
  readonly token?: string | undefined;
}

/** What a bucket of control's own holds. */
export interface StoredParcel extends Addressed {
  readonly bucketId: string;
}

/** A bucket that nodes see at one place, without copying it. */
export interface MountedParcel extends Addressed {
  readonly mounted: {
    readonly uri: string;
    readonly keys: Keys | undefined;
    readonly readOnly: boolean;
    readonly cache: CacheOptions | null;
  };
}

/** A stored secret as a file. */
export interface SecretParcel extends Addressed {
  readonly secret: string;
}

/** A commit of a git repository. */
export interface ClonedParcel extends Addressed {
  readonly repository: Repository;
  readonly commit: string;
  /** The user whose it is. */
  readonly owner: string;
}

/** A volume, or a folder in it. */
export interface VolumeParcel extends Addressed {
  readonly volume: { readonly id: string; readonly name: string };
  readonly subPath: string | undefined;
  /** The command line that attached it. */
  readonly command: string;
}

/** What scripts run in. */
export interface ContainerParcel extends Addressed {
  readonly container: ContainerOrder;
}

export type Parcel =
  | ContainerParcel
  | UploadedParcel
  | FetchedParcel
  | MountedParcel
  | StoredParcel
  | SecretParcel
  | ClonedParcel
  | VolumeParcel;

/** A parcel that a cluster remembers, for nodes that it gets later. */
export type KeptParcel = Parcel & {
  /** Every node had it; otherwise it is on its way, or did not get there. */
  readonly hasArrived: boolean;
};

/** A parcel, and what is in it as a node sees it. */
export interface FileCargo {
  readonly parcel: Parcel;
  /** By which a node that was brought it knows it again; then it is not opened. */
  readonly digest?: string;
  open(agent: Agent, signal: AbortSignal): Promise<Load>;
}

/** Who hears how something comes to a node. */
export interface Listener {
  /** Takes a line for people. */
  tell(line: string): void;
  /** Something moved. */
  heard(): void;
}

/** A parcel, and how a node attaches it; resolves with what was done. */
export interface AttachedCargo {
  readonly parcel: ContainerParcel | MountedParcel | VolumeParcel;
  attach(agent: Agent, signal: AbortSignal, listener: Listener): Promise<string>;
}

export type Cargo = FileCargo | AttachedCargo;

/** What lies where, and how its contents come to a node. */
export interface Load {
  readonly entries: readonly Entry[];
  readonly contents: /** The file that has a content, or its bytes. */
    | { readonly by: "control"; fileOf(content: Content): string | Buffer }
    | { readonly by: "node"; sourceOf(content: Content): FetchedContent };
}
