"""A process of MultiDeviceSession: a job on stdin, (text of the failure or None, outputs) on stdout, both pickled by the parent and for it only."""

import os
import pickle
import sys


def main():
    # What the model's libraries print must not get between.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    job = pickle.load(sys.stdin.buffer)
    from ais_bench.infer.interface import InferSession

    try:
        session = InferSession(**job["session"])
        outputs = getattr(session, job["method"])(job["feeds"], **job["arguments"])
        session.free_resource()
        answer = (None, outputs)
    except RuntimeError as error:
        answer = ("device %s: %s" % (job["session"]["device_id"], error), None)
    with answers:
        pickle.dump(answer, answers, protocol=4)


if __name__ == "__main__":
    main()
