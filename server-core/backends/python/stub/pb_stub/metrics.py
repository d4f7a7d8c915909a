import enum

from .data_types import text_of
from .errors import TritonModelException
from .session import current


class MetricKind(enum.IntEnum):
    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class MetricFamily:
    """A family of metrics on the server's metrics page. One of the same name and kind, also of another model, is the same family."""

    COUNTER = MetricKind.COUNTER
    GAUGE = MetricKind.GAUGE
    HISTOGRAM = MetricKind.HISTOGRAM

    def __init__(self, name, description, kind):
        self._kind = kind
        self._name = name = text_of(name, "MetricFamily takes the name")
        description = text_of(description, "MetricFamily takes the description")
        if kind not in list(MetricKind):
            raise TritonModelException("Error when creating MetricFamily: kind must be MetricFamily.COUNTER, GAUGE or HISTOGRAM, not %r." % (kind,))
        self._family = _ask("Error when creating MetricFamily", {"op": "metric_family", "name": name, "description": description, "kind": MetricKind(kind).name})

    def Metric(self, labels=None, buckets=None):
        """A metric of the family. Those with equal labels are the same one. `buckets`: upper bounds of a histogram, ascending."""
        return Metric(self, labels, buckets)


class Metric:
    def __init__(self, family, labels=None, buckets=None):
        self._metric = None
        if labels is not None and not isinstance(labels, dict):
            raise TritonModelException("Failed to create metric. Labels must be a dictionary.")
        if buckets is not None and not isinstance(buckets, (list, tuple)):
            raise TritonModelException("Failed to create metric. Buckets must be a list.")
        if family._kind == MetricFamily.HISTOGRAM:
            if buckets is None:
                raise TritonModelException("Failed to create metric. Missing required buckets.")
        elif buckets:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        self._session = current()
        self._family = family
        self._metric = _ask("Failed to create metric", {
            "op": "metric", "family": family._family,
            "labels": {str(key): str(value) for key, value in (labels or {}).items()},
            "buckets": [repr(float(bound)) for bound in buckets or ()],
        })

    def increment(self, value):
        self._do("Failed to increment metric value", "increment", value)

    def set(self, value):
        self._do("Failed to set metric value", "set", value)

    def observe(self, value):
        self._do("Failed to observe metric value", "observe", value)

    def value(self):
        return float(_ask("Failed to get metric value", {"op": "metric_do", "metric": self._metric, "do": "value"}))

    def _do(self, what, action, value):
        _ask(what, {"op": "metric_do", "metric": self._metric, "do": action, "value": repr(float(value))})

    def __del__(self):
        if self._metric is not None:
            self._session.leave({"op": "metric_free", "metric": self._metric})


def _ask(what, message):
    session = current()
    try:
        return session.call(message)
    except TritonModelException as error:
        raise TritonModelException("%s: Failed to process the request for model '%s', message: %s" % (what, session.name, error)) from None
