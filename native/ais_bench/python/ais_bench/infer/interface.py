"""InferSession and MultiDeviceSession with the names and modes of Huawei's ais_bench, of both generations."""

import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import aclruntime
from ais_bench import _binding
from ais_bench.infer.multi_device import MultiDeviceSession
from ais_bench.infer.summary import MemorySummary, Summary

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession", "TensorDesc"]

_MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")
#: The mode that each kind of model wants.
_MODE_OF_KIND = {"batch": "dymbatch", "image": "dymhw", "dims": "dymdims"}
_MAX_DEVICE = 255


class TensorDesc:
    """An input or output: name, datatype, format (numbers of AscendCL), shape (-1: open), size (elements) and realsize (bytes), of the largest gear."""

    def __init__(self, tensor):
        self.name = tensor["name"]
        number = tensor["acl_datatype"]
        self.datatype = aclruntime.dtype(number) if number in set(aclruntime.dtype) else number
        self.format = tensor["acl_format"]
        self.shape = list(tensor["dims"])
        self.realsize = tensor["bytes"]
        #: None: numpy has no such type.
        self.item_type = np.dtype(self.datatype.name) if isinstance(self.datatype, aclruntime.dtype) else None
        self.size = self.realsize // (1 if self.item_type is None else self.item_type.itemsize)

    def __repr__(self):
        return "TensorDesc(name=%r, datatype=%s, format=%s, shape=%s, size=%d, realsize=%d)" % (
            self.name, getattr(self.datatype, "name", self.datatype), self.format, self.shape, self.size, self.realsize)


class InferSession:
    """
    A model on a card. Not for several threads at once.

    :param device_id: logical id, as ASCEND_RT_VISIBLE_DEVICES numbers the cards
    :param model_path: an .om file
    :param acl_json_path: configuration of AscendCL, of effect for the first session of the process
    :param debug: prints what the model is
    :param loop: runs of each infer, of which the last one's outputs are given
    :raises RuntimeError: an argument is out of range, or CANN refuses; the text says why
    """

    _open = weakref.WeakSet()

    def __init__(self, device_id, model_path, acl_json_path=None, debug=False, loop=1):
        if not isinstance(device_id, (int, np.integer)) or not 0 <= device_id <= _MAX_DEVICE:
            raise RuntimeError("device_id must be a whole number from 0 to %d, not %r" % (_MAX_DEVICE, device_id))
        if not os.path.isfile(model_path):
            raise RuntimeError("there is no model file %r" % (model_path,))
        if not isinstance(loop, (int, np.integer)) or loop < 1:
            raise RuntimeError("loop must be a whole number from 1 on, not %r" % (loop,))
        self.device_id = int(device_id)
        self.model_path = model_path
        self.loop = int(loop)
        self._summary = Summary()
        self._second = None
        self._session = _binding.Session(self.device_id, model_path, acl_json_path)
        self._open.add(self)
        description = self._session.description
        self._inputs = [TensorDesc(tensor) for tensor in description["inputs"]]
        self._outputs = [TensorDesc(tensor) for tensor in description["outputs"]]
        self._own_mode = "dymshape" if description["graph"] == "dynamic" else _MODE_OF_KIND.get(description["gear_kind"], "static")
        if debug:
            print("%s on device %d: mode %s\n  inputs %s\n  outputs %s" % (model_path, self.device_id, self._own_mode, self._inputs, self._outputs))

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return list(self._outputs)

    def set_context(self):
        """Nothing to do: every call makes the card's context its thread's own."""

    def infer(self, feeds, mode="static", custom_sizes=100000, out_array=True):
        """
        :param feeds: an array, number, CPU tensor of torch, or aclruntime.Tensor for each input
        :param mode: static, dymbatch, dymhw, dymdims or dymshape
        :param custom_sizes: the most bytes that outputs may have, one number for all or one each; for dymshape only
        :param out_array: numpy arrays, else aclruntime.Tensor
        :raises RuntimeError: the mode or the feeds do not fit the model, or CANN reports an error
        """
        plan = self._plan(feeds, mode, custom_sizes)
        for _ in range(self.loop):
            results = self._once(self._session, plan)
        return results if out_array else [aclruntime.Tensor(result) for result in results]

    def run(self, feeds, out_array=False):
        """infer in the mode that the model has."""
        return self.infer(feeds, self._own_mode, out_array=out_array)

    def infer_pipeline(self, feeds_list, mode="static", custom_sizes=100000):
        """infer of each, two at a time: the copies of one overlap the computation of the other. Takes a second copy of the model on the card."""
        plans = [self._plan(feeds, mode, custom_sizes) for feeds in feeds_list]
        if self._second is None:
            self._second = _binding.Session(self.device_id, self.model_path)
        with ThreadPoolExecutor(1) as even, ThreadPoolExecutor(1) as odd:
            futures = [(odd if index % 2 else even).submit(self._once, self._second if index % 2 else self._session, plan) for index, plan in enumerate(plans)]
            return [future.result() for future in futures]

    def infer_iteration(self, feeds, in_out_list=None, iteration_times=1, mode="static", custom_sizes=100000):
        """
        Runs several times, outputs becoming inputs.

        :param in_out_list: for each input the output of the run before that it takes, -1 to stay as it is: [-1, 0, 1]
        :raises RuntimeError: as infer, and for an in_out_list that does not fit the model
        """
        links = [-1] * len(self._inputs) if in_out_list is None else list(in_out_list)
        if len(links) != len(self._inputs):
            raise RuntimeError("in_out_list has %d entries, the model %d inputs" % (len(links), len(self._inputs)))
        wrong = [link for link in links if not -1 <= link < len(self._outputs)]
        if wrong:
            raise RuntimeError("in_out_list names output %s, the model has %d" % (wrong[0], len(self._outputs)))
        if iteration_times < 1:
            raise RuntimeError("iteration_times must be a whole number from 1 on, not %r" % (iteration_times,))
        outputs = self.infer(feeds, mode, custom_sizes)
        for _ in range(iteration_times - 1):
            feeds = [feed if link < 0 else outputs[link] for feed, link in zip(feeds, links)]
            outputs = self.infer(feeds, mode, custom_sizes)
        return outputs

    def summary(self):
        """Times of this session's runs: summary().exec_time_list."""
        return self._summary

    def reset_summaryinfo(self):
        self._summary.reset()

    # As the generation of 2023 spells them.
    sumary = summary
    reset_sumaryinfo = reset_summaryinfo

    def free_resource(self):
        """Unloads the model. The session cannot be used after it; a second call does nothing."""
        for session in (self._session, self._second):
            if session is not None:
                session.close()

    @staticmethod
    def finalize():
        """Frees all sessions of this process. CANN itself ends with the process: others in it may use it too."""
        for session in list(InferSession._open):
            session.free_resource()

    def __del__(self):
        if hasattr(self, "_session"):
            self.free_resource()

    def _plan(self, feeds, mode, custom_sizes):
        """What one run needs: the feeds with their shapes, and the room for each output."""
        if mode not in _MODES:
            raise RuntimeError("mode %r is none: use %s" % (mode, ", ".join(_MODES)))
        if mode != self._own_mode:
            raise RuntimeError("%s is not a %s model: use mode %r" % (self.model_path, mode, self._own_mode))
        arrays = [_as_array(feed) for feed in feeds]
        if len(arrays) != len(self._inputs):
            raise RuntimeError("the model has %d inputs (%s), %d were given" % (len(self._inputs), ", ".join(desc.name for desc in self._inputs), len(arrays)))
        # A static model has one shape: only the number of bytes counts.
        shapes = [desc.shape if mode == "static" else array.shape for desc, array in zip(self._inputs, arrays)]
        return list(zip(arrays, shapes)), self._room(custom_sizes) if mode == "dymshape" else None

    def _room(self, custom_sizes):
        sizes = [int(custom_sizes)] * len(self._outputs) if isinstance(custom_sizes, (int, np.integer)) else [int(size) for size in custom_sizes]
        if len(sizes) != len(self._outputs):
            raise RuntimeError("custom_sizes has %d entries, the model %d outputs" % (len(sizes), len(self._outputs)))
        return sizes

    def _once(self, session, plan):
        feeds, room = plan
        copy_in, run, copy_out = session.run(feeds)
        results = [session.output(index, desc.item_type) for index, desc in enumerate(self._outputs)]
        for desc, result, size in zip(self._outputs, results, room or []):
            if result.nbytes > size:
                raise RuntimeError("output '%s' has %d bytes, custom_sizes allows %d: raise it" % (desc.name, result.nbytes, size))
        MemorySummary.add_h2d_time(copy_in)
        self._summary.exec_time_list.append(run)
        MemorySummary.add_d2h_time(copy_out)
        return results


def _as_array(feed):
    """A C-contiguous array of what ais_bench takes."""
    if isinstance(feed, (np.ndarray, np.generic, aclruntime.Tensor)):
        return np.ascontiguousarray(np.asarray(feed)).reshape(np.shape(feed))
    if hasattr(feed, "detach") and hasattr(feed, "numpy"):
        return np.ascontiguousarray(feed.detach().numpy())
    if isinstance(feed, (bool, int, float)):
        return np.asarray(feed)
    raise RuntimeError("a feed is a numpy array, a number, a CPU tensor of torch or an aclruntime.Tensor, not a %s" % type(feed).__name__)
