"""Inference with .om models: ais_bench.infer.interface."""
