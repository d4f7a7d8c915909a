"""What the process of an instance does: one message after another, on the main thread, as models with event loops and signal handlers expect."""

import asyncio
import atexit
import faulthandler
import inspect
import os
import signal
import sys
import threading
import time
import traceback

import numpy

from .errors import TritonModelException
from .inference import InferenceRequest, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE
from .import_hints import hint_for
from .model_code import describe_exception, import_model
from .model_config import ModelConfig
from .response import InferenceResponse
from .session import end_process_group, open_session

_BACKEND_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    # A crash in native code, and SIGUSR1 from the server when nothing else gets an answer, leave the Python stacks of all threads in the log.
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    session = open_session()
    start = session.receive()
    if start is None:
        return 1
    session.open(start["name"], start["version_directory"], start["memory_size"], start["memory_growth"])
    session.start_reading()
    session.send({"op": "started", "python": "%d.%d.%d" % sys.version_info[:3], "numpy": numpy.__version__, "executable": sys.executable})
    try:
        if start["op"] == "auto_complete":
            session.send({"op": "completed", "config": _complete(start)})
            _end(0)
        instance = Instance(session, start)
        session.send({"op": "initialized", "has_is_ready": instance.has_is_ready})
    except BaseException as error:
        traceback.print_exc()
        session.send({"op": "failed", "error": describe_exception(error) + hint_for(error)})
        _end(1)
    instance.serve()
    return 0


def _complete(start):
    model = _import(start)
    complete = getattr(model, "auto_complete_config", None)
    if complete is None:
        return None
    config = complete(ModelConfig(start["config"]))
    if not isinstance(config, ModelConfig):
        raise TritonModelException("auto_complete_config function in model '%s' must return a valid pb.ModelConfig object." % start["config"]["name"])
    return config.as_dict()


def _import(start):
    return import_model(start["code_directory"], start["filename"], _BACKEND_DIRECTORY)


class Instance:
    """A model that was imported and initialized."""

    def __init__(self, session, start):
        self._session = session
        self._name = start["name"]
        self._path = os.path.join(start["code_directory"], start["filename"])
        self._is_decoupled = start["is_decoupled"]
        self._loop = None
        self._model = _import(start)()
        if hasattr(self._model, "initialize"):
            self._model.initialize(start["args"])
        self.has_is_ready = hasattr(self._model, "is_ready")
        session.may_infer = True

    def serve(self):
        while True:
            message = self._session.receive()
            if message is None:
                end_process_group()
            operation = message["op"]
            if operation == "execute":
                self._execute(message)
            elif operation == "is_ready":
                # Beside the batch that runs: the server asks while it waits for that.
                threading.Thread(target=self._is_ready, args=(message,), name="is-ready", daemon=True).start()
            elif operation == "finalize":
                self._finalize()
            del message

    # Execution

    def _execute(self, message):
        requests = [InferenceRequest._of_message(self._session, request, self._is_decoupled) for request in message["requests"]]
        replies = [request._reply for request in requests]
        answer = {"op": "executed", "batch": message["batch"], "compute_start": time.monotonic_ns()}
        try:
            answer["responses"] = self._run(requests, replies)
        except BaseException as error:
            self._fail(answer, replies, error)
        answer["compute_end"] = time.monotonic_ns()
        self._session.send(answer)

    def _fail(self, answer, replies, error):
        if not isinstance(error, _ContractError):
            traceback.print_exc()
        for reply in replies:
            reply.is_closed = True
        answer["error"] = self._failure(error)

    def _failure(self, error):
        text = str(error) if isinstance(error, _ContractError) else describe_exception(error)
        return "Failed to process the request(s) for model '%s', message: %s" % (self._name, text)

    def _run(self, requests, replies):
        execute = getattr(self._model, "execute", None)
        if execute is None:
            raise _ContractError("Python model %s does not implement `execute` method." % self._path)
        result = execute(requests)
        if result is not None and type(result) is not list and inspect.isawaitable(result):
            if self._is_decoupled:
                asyncio.run_coroutine_threadsafe(self._await_decoupled(result, requests, replies), self._background_loop())
                return None
            # On the loop of them all: what it started there goes on, and what belongs to a loop serves the next batch, too.
            result = asyncio.run_coroutine_threadsafe(_await(result), self._background_loop()).result()
        if self._is_decoupled:
            return self._decoupled_end(result, requests, replies)
        return self._responses(result, requests, replies)

    def _responses(self, result, requests, replies):
        """What the server is told about each request: a response, that it was put back, or None where its sender answers."""
        if result is None:
            result = [None] * len(requests)
        elif not isinstance(result, list):
            raise _ContractError("Expected a list in the execute return, found type '%s'." % type(result))
        elif len(result) != len(requests):
            raise _ContractError(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:%d, and InferenceResponse(s) size is:%d\n"
                % (len(requests), len(result)))
        for response, request, reply in zip(result, requests, replies):
            is_put_back = request._release_flags == TRITONSERVER_REQUEST_RELEASE_RESCHEDULE
            if is_put_back and response is not None:
                raise _ContractError("Expected a None object in the execute function return list for reschduled request, found type '%s'." % type(response))
            if response is not None and not isinstance(response, InferenceResponse):
                raise _ContractError("Expected an 'InferenceResponse' object in the execute function return list, found type '%s'." % type(response))
            if response is not None and (reply.is_answered or reply.is_closed):
                raise _ContractError("execute returned a response for a request that its response sender has answered already. Return None in its place.")
            if response is None and not is_put_back and not reply.has_sender:
                raise _ContractError(
                    "Expected an 'InferenceResponse' object in the execute function return list, found type '%s'. execute may return None only for requests that it "
                    "put back or that a response sender answers." % type(response))
        described = [self._describe(response, request, reply) for response, request, reply in zip(result, requests, replies)]
        return described

    def _describe(self, response, request, reply):
        if request._release_flags == TRITONSERVER_REQUEST_RELEASE_RESCHEDULE:
            reply.is_closed = True
            return {"put_back": True}
        if response is None:
            return None
        try:
            described = response._described(self._session, reply.wanted)
        except TritonModelException as error:
            described = {"failure": [1, self._failure(error)]}
        reply.is_closed = True
        return described

    def _decoupled_end(self, result, requests, replies):
        if result is not None:
            raise _ContractError("Python model '%s' is using the decoupled mode and the execute function must return None." % self._name)
        return [self._describe(None, request, reply) for request, reply in zip(requests, replies)]

    async def _await_decoupled(self, awaitable, requests, replies):
        """A decoupled model's coroutine: it goes on while the next batch starts, and what it leaves unanswered when it fails is failed."""
        try:
            self._decoupled_end(await awaitable, requests, replies)
        except BaseException as error:
            if not isinstance(error, _ContractError):
                traceback.print_exc()
            for reply in replies:
                if not reply.is_closed:
                    reply.is_closed = True
                    self._session.send({"op": "send", "request": reply.number, "final": True, "response": {"failure": [1, self._failure(error)]}})

    def _background_loop(self):
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="coroutines", daemon=True).start()
        return self._loop

    # Health and end

    def _is_ready(self, message):
        answer = {"op": "readiness", "call": message["call"], "error": None}
        try:
            result = self._model.is_ready()
            if inspect.isawaitable(result):
                result = asyncio.run(_await(result))
            if not isinstance(result, bool):
                answer["error"] = "is_ready of model '%s' must return a bool, found type '%s'." % (self._name, type(result))
            elif not result:
                answer["error"] = "is_ready of model '%s' returned False." % self._name
        except BaseException as error:
            traceback.print_exc()
            answer["error"] = describe_exception(error)
        self._session.send(answer)

    def _finalize(self):
        self._session.may_infer = False
        answer = {"op": "finalized", "error": None}
        try:
            if hasattr(self._model, "finalize"):
                self._model.finalize()
        except BaseException as error:
            traceback.print_exc()
            answer["error"] = describe_exception(error)
        self._session.send(answer)
        _end(0)


class _ContractError(Exception):
    """What the model returned is not what `execute` is to return."""


async def _await(awaitable):
    return await awaitable


def _end(code):
    """Ends the process without waiting for threads that the model left."""
    try:
        atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                # Nobody reads it any more.
                continue
        os._exit(code)
