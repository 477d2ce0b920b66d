import { join } from "node:path";
import { AppError, type ErrorType, errorTypes } from "../../common/errors.ts";
import { toHandle } from "../../control/clusters/view.ts";
import { encodeError, plainError } from "../../control/wire/errors.ts";
import { pickleHandle, pickleResources, poolResources } from "../../control/wire/handles.ts";
import { aCluster } from "../helpers/clusters.ts";
import { type CommandOptions, type Ended, runCommand } from "./command.ts";

const accelerators = { name: "H100", count: 8 };
const resources = poolResources({ infra: "here", cpus: 2, memoryGb: 24, accelerators });
const cluster = aCluster({ addresses: ["127.0.0.1"] });
const handle = toHandle({ ...cluster, offer: { ...cluster.offer, accelerators } });

/** Everything of ours that the client does not read as plain JSON. */
const encodings = {
  handles: [handle, pickleHandle(handle)],
  resources: [resources, pickleResources(resources)],
  errors: (Object.keys(errorTypes) as ErrorType[]).map((type) => {
    const error = new AppError(type, `${type} happened`, { status: "STOPPED" });
    return { type, object: JSON.parse(encodeError(error)).object, plain: plainError(error) };
  }),
};

/** Runs inside of the client's environment, with the client's own decoders. */
const script = `
import json, sys
from sky import exceptions
from sky.server.requests.serializers import decoders

sent = json.loads(sys.argv[1])
for handle in map(decoders.decode_handle, sent["handles"]):
    assert (handle.cluster_name, handle.head_ip) == ("demo", "127.0.0.1"), handle
    assert str(handle.launched_resources.cloud) == "SSH", handle
for resources in map(decoders.decode_resources, sent["resources"]):
    assert resources.accelerators == {"H100": 8}, resources
    assert resources.get_cost(3600) == 0, resources
for error in sent["errors"]:
    for form in (decoders.decode_and_unpickle(error["object"]), error["plain"]):
        rebuilt = exceptions.deserialize_exception(form)
        assert type(rebuilt) is not Exception, (error["type"], "is not known")
        assert error["type"] + " happened" in str(rebuilt), repr(rebuilt)
`;

/** Lets the existing client decode our handles, resources and every type of error. */
export const decodeWithClient = (bin: string, options: CommandOptions): Promise<Ended> =>
  runCommand([join(bin, "python"), "-c", script, JSON.stringify(encodings)], options);
