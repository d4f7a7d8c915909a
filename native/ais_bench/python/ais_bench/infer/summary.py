"""Times of runs and copies, in milliseconds."""


class Summary:
    """Of one session."""

    def __init__(self):
        #: One number a run.
        self.exec_time_list = []

    def reset(self):
        self.exec_time_list = []


class MemorySummary:
    """Copies of all sessions of this process: one number for all inputs, and one for all outputs, of a run."""

    _h2d = []
    _d2h = []

    @classmethod
    def get_h2d_time_list(cls):
        return list(cls._h2d)

    @classmethod
    def get_d2h_time_list(cls):
        return list(cls._d2h)

    @classmethod
    def add_h2d_time(cls, milliseconds):
        cls._h2d.append(milliseconds)

    @classmethod
    def add_d2h_time(cls, milliseconds):
        cls._d2h.append(milliseconds)

    @classmethod
    def reset(cls):
        cls._h2d.clear()
        cls._d2h.clear()
