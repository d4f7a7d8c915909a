"""TLS and mutual TLS of Triton's gRPC clients, the plain and the asyncio one, against servers that run. Prints as tritonclient_calls.py, whose clients it uses."""
import argparse
import asyncio
import json
import os
import traceback

import numpy as np

from tritonclient_calls import Flavour, check, grpc_aio_client, grpc_client

SECONDS = 30
# What a client gives, and None where it is to be served, else the status it is refused with. 127.0.0.1 is in the server's certificate.
CASES = [
    ("tls", "a certificate that the given root signed", {"root": "ca"}, None),
    ("tls", "a certificate of a stranger", {"root": "stranger"}, "UNAVAILABLE"),
    ("tls", "no TLS", None, "UNAVAILABLE"),
    ("mutual", "a certificate of one's own that the server knows", {"root": "ca", "own": "client"}, None),
    ("mutual", "none of one's own", {"root": "ca"}, "UNAVAILABLE"),
    ("mutual", "one of one's own that a stranger signed", {"root": "ca", "own": "intruder"}, "UNAVAILABLE"),
]


def options_of(given, directory):
    if given is None:
        return {}
    own = given.get("own")
    path = lambda file: os.path.join(directory, file)
    return {
        "ssl": True, "root_certificates": path(given["root"] + ".crt"),
        "private_key": None if own is None else path(own + ".key"), "certificate_chain": None if own is None else path(own + ".crt"),
    }


async def infers(f):
    numbers = np.arange(16, dtype=np.int32).reshape(1, 16)
    result = await f.call("infer", "simple", [f.input("INPUT0", numbers), f.input("INPUT1", numbers)], client_timeout=SECONDS)
    check((result.as_numpy("OUTPUT0") == 2 * numbers).all(), "wrong sums")


async def run(f, given, status, directory):
    await f.open(**options_of(given, directory))
    try:
        if status is None:
            await infers(f)
        else:
            error = await f.fails("", "is_server_live", client_timeout=SECONDS)
            check(status in str(error.status()), f"expected {status}, got {error.status()}: {error.message()}")
    finally:
        await f.call("close")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls", required=True, help="address of a server with TLS")
    parser.add_argument("--mutual", required=True, help="address of one that asks clients for a certificate")
    parser.add_argument("--certificates", required=True, help="folder with .crt of ca and stranger, .crt and .key of client and intruder")
    options = parser.parse_args()
    for name, module in {"grpc": grpc_client, "grpc.aio": grpc_aio_client}.items():
        for server, what, given, status in CASES:
            error = None
            try:
                asyncio.run(run(Flavour(name, module, getattr(options, server), 0, None), given, status, options.certificates))
            except Exception as problem:
                error = f"{type(problem).__name__}: {str(problem) or repr(problem)} (line {traceback.extract_tb(problem.__traceback__)[-1].lineno})"[:600]
            print(json.dumps({"client": name, "call": "mutual TLS" if server == "mutual" else "TLS", "case": what + (": served" if status is None else ": refused"), "error": error}), flush=True)


if __name__ == "__main__":
    main()
