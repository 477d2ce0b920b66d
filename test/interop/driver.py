"""Runs command lines of the existing client, which it imports once: each in a process of its own.

Reads a JSON object a line, {"id", "args", "timeoutMs"}, and answers each by one: {"id", "exitCode", "text",
"tookMs"}. The text is what the command wrote to either stream; the exit code is null where it took too long.
"""

import gc
import json
import os
import select
import signal
import sys
import tempfile
import time

import filelock
import networkx  # noqa: F401  The client imports it once it reads a task.
from sky.client.cli import command


def begin(order):
    """Forks; returns nothing in the child, which goes on as that command."""
    output = tempfile.TemporaryFile()
    pid = os.fork()
    if pid != 0:
        until = time.monotonic() + order["timeoutMs"] / 1000
        return pid, {"order": order, "output": output, "begun": time.monotonic(), "until": until}
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, standard in ((nothing, 0), (output.fileno(), 1), (output.fileno(), 2)):
        os.dup2(ours, standard)
    return None


def end(one, status):
    """Answers a command that has ended."""
    one["output"].seek(0)
    killed = os.WIFSIGNALED(status)
    answer = {
        "id": one["order"]["id"],
        "exitCode": None if killed else os.WEXITSTATUS(status),
        "text": one["output"].read().decode(errors="replace"),
        "tookMs": (time.monotonic() - one["begun"]) * 1000,
    }
    one["output"].close()
    os.write(1, (json.dumps(answer) + "\n").encode())


def serve():
    """Returns in each child, with its arguments; in the driver itself once its input ends."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running, rest, is_open = {}, b"", True
    while is_open or running:
        readable, _, _ = select.select([woken] + [0] * is_open, [], [], 0.2)
        if woken in readable:
            os.read(woken, 4096)
        if 0 in readable:
            chunk = os.read(0, 65536)
            is_open = chunk != b""
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                begun = begin(json.loads(line))
                if begun is None:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    return json.loads(line)["args"]
                running[begun[0]] = begun[1]
        for pid, one in list(running.items()):
            if time.monotonic() > one["until"]:
                os.killpg(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                end(running.pop(pid), status)
    return None


locks = [one for one in gc.get_objects() if isinstance(one, filelock.BaseFileLock)]
# At its end each process would otherwise visit, and so copy, all that was imported.
gc.freeze()
arguments = serve()
if arguments is not None:
    sys.argv = ["sky", *arguments]
    # A lock knows the process that made it, and serves no other.
    for lock in locks:
        lock.__init__(lock.lock_file)
    sys.exit(command.cli())
