"""Calls the routes of workspaces with the existing client's own SDK: METHOD PATH [JSON]."""

import json
import sys

from sky.client import sdk
from sky.server import common

if len(sys.argv) == 1:
    print(json.dumps(sdk.get(sdk.workspaces()), sort_keys=True))
else:
    method, path, *body = sys.argv[1:]
    answer = common.make_authenticated_request(
        method, path, json=json.loads(body[0]) if body else None
    )
    print(json.dumps(sdk.get(common.get_request_id(answer)), sort_keys=True))
