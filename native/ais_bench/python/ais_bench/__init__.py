"""Runs Ascend .om models: a module with the names of Huawei's ais_bench, so that programs written for it run, on the console's own binding."""

from ais_bench._binding import device_count

__all__ = ["device_count"]
