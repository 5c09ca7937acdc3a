#!/usr/bin/env python3
"""A decider for simulate: it adds a node of a shape of its own when three pods wait.

Usage: simulate run scenario.yaml --decider "add-node=python3 examples/decider/add_node.py"

The protocol is JSON lines over stdin and stdout; docs/deciders.md describes it. This program keeps nothing between two requests but the
objects of the cluster: what it has to remember is the memory that it answers and gets back.
"""
import json
import sys

MOST = 5  # nodes that it adds at most
SHAPE = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def main():
    objects = {}  # the cluster, by what names an object
    for message in read():
        if "hello" in message:
            write({"hello": {"protocol": 1, "name": "add-node", "version": "1", "reads": ["Pod", "Node"]}})
        elif "admit" in message:  # it has no resources of its own
            write({"admit": {"objects": message["admit"]["objects"]}})
        elif "state" in message:
            for gone in message["state"].get("delete", []):
                objects.pop(key(gone["kind"], gone), None)
            for there in message["state"].get("set", []):
                objects[key(there["kind"], there["metadata"])] = there
            write({"state": {}})
        elif "decide" in message:
            write({"decide": decide(message["decide"], objects)})
        elif "bye" in message:
            write({"bye": {}})
            return


def decide(request, objects):
    """Adds a node if three pods wait that the scheduler has refused."""
    memory = request.get("memory") or {"added": 0}
    waiting = [o for o in objects.values() if o["kind"] == "Pod" and unschedulable(o)]
    if len(waiting) < 3 or memory["added"] == MOST:
        return {"memory": memory}
    name = "added-%d" % (memory["added"] + 1)
    answer = call({"create": node(name), "explain": "%d pods wait" % len(waiting)})
    if "refused" in answer:
        event = {"object": ref("Node", name), "type": "Warning", "reason": "CannotAdd", "message": answer["refused"]["message"]}
        return {"memory": memory, "events": [event]}
    event = {"object": ref("Node", name), "reason": "Added", "message": "for %d pods" % len(waiting)}
    return {"memory": {"added": memory["added"] + 1}, "events": [event]}


def unschedulable(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)


def node(name):
    labels = {"kubernetes.io/hostname": name, "added-by": "add-node"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": SHAPE, "allocatable": SHAPE},
    }


def ref(kind, name):
    return {"apiVersion": "v1", "kind": kind, "name": name}


def key(kind, named):
    return kind, named.get("namespace", ""), named["name"]


def call(message):
    """Makes a call, and returns simulate's answer: stored or refused."""
    write(message)
    return json.loads(sys.stdin.readline())


def read():
    while line := sys.stdin.readline():
        yield json.loads(line)


def write(message):
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
