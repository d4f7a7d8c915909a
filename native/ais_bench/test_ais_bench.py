"""Tests of the Python package on simulated cards. Run by ../ais-bench.test.ts, which makes the models; by hand: see README.md."""

import gc
import os
import sys
import unittest

import numpy as np

import aclruntime
from ais_bench import device_count
from ais_bench.infer.interface import InferSession, MemorySummary, MultiDeviceSession

MODELS = sys.argv.pop(1)


def model(name):
    return os.path.join(MODELS, name)


def ones(*shape):
    return np.ones(shape, np.float32)


def ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 3


class Modes(unittest.TestCase):
    def test_static(self):
        session = InferSession(0, model("static.om"))
        a, b = ramp(2, 3), ones(2, 3)
        outputs = session.infer([a, b])
        self.assertEqual(len(outputs), 1)
        np.testing.assert_array_equal(outputs[0], a + b)
        # Only bytes count, and what is not contiguous is made so.
        np.testing.assert_array_equal(session.infer([a.reshape(3, 2), np.asfortranarray(b)])[0], a + b)

    def test_dymbatch(self):
        session = InferSession(1, model("batch.om"))
        for size in (1, 2, 8):
            a = ramp(size, 3)
            np.testing.assert_array_equal(session.infer([a, a], mode="dymbatch")[0], a + a)
        with self.assertRaisesRegex(RuntimeError, "gears are: 1, 2, 8"):
            session.infer([ones(3, 3), ones(3, 3)], mode="dymbatch")
        with self.assertRaisesRegex(RuntimeError, r"A \[2,3\], B \[1,3\]"):
            session.infer([ones(2, 3), ones(1, 3)], mode="dymbatch")
        np.testing.assert_array_equal(session.infer([ones(2, 3), ones(2, 3)], mode="dymbatch")[0], 2 * ones(2, 3))

    def test_dymhw(self):
        session = InferSession(0, model("image.om"))
        for height, width in ((32, 32), (64, 48)):
            x = ramp(1, 3, height, width)
            np.testing.assert_array_equal(session.infer([x], mode="dymhw")[0], np.maximum(x, 0))

    def test_dymdims(self):
        session = InferSession(0, model("dims.om"))
        x = ramp(1, 3, 16, 32)
        np.testing.assert_array_equal(session.infer([x], mode="dymdims")[0], np.maximum(x, 0))

    def test_dymshape(self):
        session = InferSession(0, model("free.om"))
        for size in (1, 5):
            a = ramp(size, 3)
            np.testing.assert_array_equal(session.infer([a, a], mode="dymshape", custom_sizes=[1000])[0], a + a)
        with self.assertRaisesRegex(RuntimeError, "60 bytes, custom_sizes allows 8"):
            session.infer([ones(5, 3), ones(5, 3)], mode="dymshape", custom_sizes=8)
        with self.assertRaisesRegex(RuntimeError, "custom_sizes has 2 entries, the model 1 outputs"):
            session.infer([ones(5, 3), ones(5, 3)], mode="dymshape", custom_sizes=[8, 8])

    def test_real_model(self):
        session = InferSession(0, model("direction.om"))
        image = np.fromfile(model("direction.input"), np.float32).reshape(session.get_inputs()[0].shape)
        expected = np.fromfile(model("direction.output"), np.float32)
        np.testing.assert_array_equal(session.infer([image])[0].ravel(), expected)


class Calls(unittest.TestCase):
    def setUp(self):
        self.session = InferSession(0, model("static.om"))
        self.feeds = [ramp(2, 3), ones(2, 3)]
        self.expected = self.feeds[0] + self.feeds[1]

    def test_describes_the_model(self):
        first = self.session.get_inputs()[0]
        self.assertEqual((first.name, first.datatype, first.shape, first.size, first.realsize), ("A", aclruntime.dtype.float32, [2, 3], 6, 24))
        self.assertEqual([output.name for output in self.session.get_outputs()], ["SUM"])
        self.assertEqual(InferSession(0, model("batch.om")).get_inputs()[0].shape, [-1, 3])
        self.assertEqual(device_count(), 2)

    def test_feeds_of_all_kinds(self):
        class TorchTensor:  # stands for torch, which is not needed here
            def __init__(self, array):
                self.array = array

            def detach(self):
                return self

            def numpy(self):
                return self.array

        for feed in (aclruntime.Tensor(self.feeds[0]), TorchTensor(self.feeds[0])):
            np.testing.assert_array_equal(self.session.infer([feed, self.feeds[1]])[0], self.expected)
        with self.assertRaisesRegex(RuntimeError, "not a str"):
            self.session.infer(["a", self.feeds[1]])

    def test_outputs_as_tensors(self):
        for outputs in (self.session.infer(self.feeds, out_array=False), self.session.run(self.feeds)):
            self.assertIsInstance(outputs[0], aclruntime.Tensor)
            outputs[0].to_host()
            np.testing.assert_array_equal(np.array(outputs[0]), self.expected)
        np.testing.assert_array_equal(self.session.run(self.feeds, out_array=True)[0], self.expected)

    def test_outputs_stay_when_the_model_runs_again(self):
        outputs = self.session.infer(self.feeds)[0]
        self.session.infer([ones(2, 3), ones(2, 3)])
        np.testing.assert_array_equal(outputs, self.expected)

    def test_pipeline(self):
        feeds = [[np.full((2, 3), index, np.float32), ones(2, 3)] for index in range(9)]
        results = self.session.infer_pipeline(feeds)
        self.assertEqual([float(outputs[0][0, 0]) for outputs in results], [index + 1.0 for index in range(9)])
        self.assertEqual(self.session.infer_pipeline([]), [])

    def test_iteration(self):
        outputs = self.session.infer_iteration([ramp(2, 3), ones(2, 3)], in_out_list=[0, -1], iteration_times=5)
        np.testing.assert_array_equal(outputs[0], ramp(2, 3) + 5)
        with self.assertRaisesRegex(RuntimeError, "in_out_list has 1 entries, the model 2 inputs"):
            self.session.infer_iteration(self.feeds, in_out_list=[0])
        with self.assertRaisesRegex(RuntimeError, "names output 4, the model has 1"):
            self.session.infer_iteration(self.feeds, in_out_list=[0, 4])

    def test_loop_and_times(self):
        session = InferSession(0, model("static.om"), loop=3)
        copies = len(MemorySummary.get_h2d_time_list())
        session.infer(self.feeds)
        self.assertEqual(len(session.summary().exec_time_list), 3)
        self.assertTrue(all(isinstance(value, float) for value in session.sumary().exec_time_list))
        self.assertEqual(len(MemorySummary.get_h2d_time_list()), copies + 3)
        self.assertEqual(len(MemorySummary.get_d2h_time_list()), len(MemorySummary.get_h2d_time_list()))
        session.reset_summaryinfo()
        self.assertEqual(session.summary().exec_time_list, [])

    def test_wrong_use(self):
        for pattern, call in (
            ("device_id must be", lambda: InferSession(-1, model("static.om"))), ("device_id must be", lambda: InferSession("0", model("static.om"))),
            ("107001 INVALID_DEVICEID|no device 7|device 7", lambda: InferSession(7, model("static.om"))), ("there is no model file", lambda: InferSession(0, model("none.om"))),
            ("loop must be", lambda: InferSession(0, model("static.om"), loop=0)), ("does not begin with IMOD", lambda: InferSession(0, model("static.onnx"))),
            ("mode 'dynamic' is none", lambda: self.session.infer(self.feeds, mode="dynamic")), ("is not a dymbatch model", lambda: self.session.infer(self.feeds, mode="dymbatch")),
            ("is not a dymhw model", lambda: self.session.infer(self.feeds, mode="dymhw")), ("use mode 'dymbatch'", lambda: InferSession(0, model("batch.om")).infer(self.feeds)),
            (r"2 inputs \(A, B\), 1 were given", lambda: self.session.infer(self.feeds[:1])),
            ("input 'A' has 48 bytes, the model takes 24", lambda: self.session.infer([self.feeds[0].astype(np.float64), self.feeds[1]])),
        ):
            with self.subTest(pattern), self.assertRaisesRegex(RuntimeError, pattern):
                call()
        np.testing.assert_array_equal(self.session.infer(self.feeds)[0], self.expected)

    def test_freed(self):
        self.session.set_context()
        self.session.free_resource()
        self.session.free_resource()
        with self.assertRaisesRegex(RuntimeError, "was freed"):
            self.session.infer(self.feeds)
        other = InferSession(0, model("static.om"))
        InferSession.finalize()
        with self.assertRaisesRegex(RuntimeError, "was freed"):
            other.infer(self.feeds)
        del other
        gc.collect()
        np.testing.assert_array_equal(InferSession(0, model("static.om")).infer(self.feeds)[0], self.expected)


class MultiDevice(unittest.TestCase):
    def test_a_process_for_each_set(self):
        session = MultiDeviceSession(model("static.om"))
        results = session.infer({0: [[ones(2, 3), ones(2, 3)], [ramp(2, 3), ones(2, 3)]], 1: [[ramp(2, 3), ramp(2, 3)]]})
        self.assertEqual({device: len(sets) for device, sets in results.items()}, {0: 2, 1: 1})
        np.testing.assert_array_equal(results[0][1][0], ramp(2, 3) + 1)
        np.testing.assert_array_equal(results[1][0][0], 2 * ramp(2, 3))
        with self.assertRaisesRegex(RuntimeError, "device 9: "):
            session.infer_iteration({9: [[ones(2, 3), ones(2, 3)]]}, iteration_times=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
