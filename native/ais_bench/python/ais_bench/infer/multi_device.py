"""MultiDeviceSession: a process for each set of feeds, each with a loaded copy of the model."""

import os
import pickle
import subprocess
import sys


class MultiDeviceSession:
    """
    :param model_path: an .om file
    :param acl_json_path, debug, loop: as for InferSession
    """

    def __init__(self, model_path, acl_json_path=None, debug=False, loop=1):
        if not os.path.isfile(model_path):
            raise RuntimeError("there is no model file %r" % (model_path,))
        self._session = {"model_path": os.path.abspath(model_path), "acl_json_path": acl_json_path, "debug": debug, "loop": loop}

    def infer(self, device_feeds, mode="static", custom_sizes=100000):
        """
        :param device_feeds: {device_id: [feeds, feeds, ...]}
        :returns: {device_id: [outputs, outputs, ...]} in the same order
        :raises RuntimeError: with the text of the first process that failed, when all are done
        """
        return self._each(device_feeds, "infer", {"mode": mode, "custom_sizes": custom_sizes})

    def infer_pipeline(self, device_feeds_list, mode="static", custom_sizes=100000):
        """As infer; each set is a list of feeds."""
        return self._each(device_feeds_list, "infer_pipeline", {"mode": mode, "custom_sizes": custom_sizes})

    def infer_iteration(self, device_feeds, in_out_list=None, iteration_times=1, mode="static", custom_sizes=100000):
        return self._each(device_feeds, "infer_iteration", {"in_out_list": in_out_list, "iteration_times": iteration_times, "mode": mode, "custom_sizes": custom_sizes})

    def _each(self, device_feeds, method, arguments):
        processes = []
        try:
            for device_id, sets in device_feeds.items():
                for feeds in sets:
                    job = {"session": dict(self._session, device_id=device_id), "method": method, "feeds": feeds, "arguments": arguments}
                    processes.append((device_id, _start(job)))
            answers = [(device_id, _answer(process)) for device_id, process in processes]
        finally:
            for _, process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        failed = next((text for _, (text, _) in answers if text is not None), None)
        if failed is not None:
            raise RuntimeError(failed)
        results = {device_id: [] for device_id in device_feeds}
        for device_id, (_, outputs) in answers:
            results[device_id].append(outputs)
        return results


def _start(job):
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([package] + [path for path in [os.environ.get("PYTHONPATH")] if path]))
    process = subprocess.Popen([sys.executable or "python3", "-m", "ais_bench.infer.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    try:
        pickle.dump(job, process.stdin, protocol=4)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended before it read all: _answer says so
    process.stdin = None
    return process


def _answer(process):
    """(text of the failure or None, outputs)"""
    data, _ = process.communicate()
    if process.returncode != 0 or not data:
        return "a process of the MultiDeviceSession ended with code %s before it answered" % process.returncode, None
    return pickle.loads(data)
