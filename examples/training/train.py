"""Fits a line to noisy points: a stand-in for a model that takes days. Needs Python 3 only."""

import json
import os
import random
import signal
import time

CHECKPOINT = "checkpoint.json"
STEPS = int(os.environ.get("STEPS", "3000"))
SAVE_EVERY = 50
PAUSE_SECONDS = 0.1  # a step of a real model takes longer

points = [(x, 3 * x + 2 + random.gauss(0, 0.1)) for x in (random.random() for _ in range(200))]
save_now = False


def ask_to_save(*_):
    global save_now
    save_now = True


def load():
    try:
        with open(CHECKPOINT) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"step": 0, "slope": 0.0, "offset": 0.0}


def save(state):
    # Renamed into place, so that readers never see half of it.
    with open(CHECKPOINT + ".part", "w") as file:
        json.dump(state, file)
    os.replace(CHECKPOINT + ".part", CHECKPOINT)
    print(f"saved step {state['step']}", flush=True)


def train(state):
    slope = offset = loss = 0.0
    for x, y in points:
        error = state["slope"] * x + state["offset"] - y
        slope += 2 * error * x / len(points)
        offset += 2 * error / len(points)
        loss += error * error / len(points)
    state["slope"] -= 0.1 * slope
    state["offset"] -= 0.1 * offset
    state["step"] += 1
    return loss


signal.signal(signal.SIGUSR1, ask_to_save)
with open("train.pid", "w") as file:
    file.write(str(os.getpid()))

state = load()
print(f"starting at step {state['step']} of {STEPS}", flush=True)
while state["step"] < STEPS:
    loss = train(state)
    if state["step"] % 10 == 0:
        print(f"step {state['step']:4d}  loss {loss:.4f}", flush=True)
    if save_now or state["step"] % SAVE_EVERY == 0:
        save_now = False
        save(state)
    time.sleep(PAUSE_SECONDS)
save(state)
os.remove("train.pid")
print(f"done: y = {state['slope']:.2f} x + {state['offset']:.2f}")
