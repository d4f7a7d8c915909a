/**
 * The Python program that asks a model.py for its tensors. It imports the file with a `triton_python_backend_utils` of our own that only
 * records, calls `auto_complete_config` (never `initialize`, `execute` or anything else of the model) and prints what was set as JSON.
 * Modules that are not installed here (numpy, torch, ...) are stood in for by names without behaviour: declaring tensors needs none of them.
 */
export const PYTHON_RECORDER = String.raw`
import importlib.abc, importlib.machinery, importlib.util, json, os, sys, types

result_stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what the model prints is no result

path, model_name = sys.argv[1], sys.argv[2]


class Nothing:
    """A name of something that is not here."""

    def __init__(self, *args, **kwargs): pass
    def __call__(self, *args, **kwargs): return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else Nothing()
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Nothing()
    def __getitem__(self, key): return Nothing()
    def __iter__(self): return iter(())
    def __enter__(self): return self
    def __exit__(self, *args): return False
    def __mro_entries__(self, bases): return (object,)
    def __bool__(self): return False


class NothingModule(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Nothing()


# Python before 3.10 does not list them: then those that its own modules try.
STANDARD_MODULES = getattr(sys, "stdlib_module_names", frozenset(("msvcrt", "nt", "ntpath", "winreg", "winsound", "_winapi", "_overlapped", "_scproxy", "_msi")))


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    names = []
    def find_spec(self, fullname, search, target=None):
        # Python's own modules ask for those of other systems and want to hear that they are not there.
        if fullname.partition(".")[0] in STANDARD_MODULES: return None
        if "." not in fullname: self.names.append(fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
    def create_module(self, spec): return NothingModule(spec.name)
    def exec_module(self, module): pass


WHERE = "auto-complete-config function for model '%s'" % model_name


class ModelConfig:
    def __init__(self):
        self._config = {
            "name": model_name, "platform": "", "backend": "python", "version_policy": {"latest": {"num_versions": 1}}, "max_batch_size": 0,
            "input": [], "output": [], "batch_input": [], "batch_output": [], "optimization": {}, "instance_group": [],
            "default_model_filename": os.path.basename(path), "cc_model_filenames": {}, "metric_tags": {}, "parameters": {}, "model_warmup": [],
        }

    def as_dict(self): return self._config

    def set_max_batch_size(self, size):
        if self._config["max_batch_size"] > size:
            raise ValueError("configuration specified max_batch_size %d, but in %s specified max_batch_size %d" % (self._config["max_batch_size"], WHERE, size))
        self._config["max_batch_size"] = size

    def set_dynamic_batching(self):
        if "sequence_batching" in self._config:
            raise ValueError("Configuration specified scheduling_choice as 'sequence_batching', but %s tries to set scheduling_choice as 'dynamic_batching'" % WHERE)
        self._config["dynamic_batching"] = {}

    def set_model_transaction_policy(self, policy):
        for key in policy:
            if key != "decoupled": raise ValueError("model transaction property in %s contains property other than 'decoupled'." % WHERE)
        self._config["model_transaction_policy"] = {"decoupled": bool(policy.get("decoupled"))}

    def add_input(self, tensor): self._add("input", tensor, ("name", "data_type", "dims", "optional"), "'name', 'data_type', 'dims' and 'optional'")
    def add_output(self, tensor): self._add("output", tensor, ("name", "data_type", "dims"), "'name', 'data_type' and 'dims'")

    def _add(self, role, tensor, known, text):
        if "name" not in tensor: raise ValueError("%s in %s is missing 'name' property." % (role, WHERE))
        name = tensor["name"]
        for key in tensor:
            if key not in known: raise ValueError("%s '%s' in %s contains property other than %s." % (role, name, WHERE, text))
        for key in ("data_type", "dims"):
            if key not in tensor: raise ValueError("%s '%s' in %s is missing '%s' property." % (role, name, WHERE, key))
        for other in self._config[role]:
            if other["name"] != name: continue
            if other["data_type"] != tensor["data_type"]:
                raise ValueError("unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s" % (model_name, other["data_type"], role, name, tensor["data_type"]))
            if list(other["dims"]) != list(tensor["dims"]):
                raise ValueError("model '%s', tensor '%s': the model expects dims %s but the model configuration specifies dims %s" % (model_name, name, list(tensor["dims"]), list(other["dims"])))
            return
        self._config[role].append(dict(tensor, dims=list(tensor["dims"])))


def report(value):
    result_stream.write(json.dumps(value, default=str))
    result_stream.flush()
    os._exit(0)  # threads that the model started end with us


utils = NothingModule("triton_python_backend_utils")
utils.ModelConfig = ModelConfig
sys.modules["triton_python_backend_utils"] = utils
directory = os.path.dirname(os.path.abspath(path))
sys.path[:0] = [directory, os.path.dirname(directory)]
sys.meta_path.append(Missing())
sys.dont_write_bytecode = True

try:
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["model"] = module
    spec.loader.exec_module(module)
    model = getattr(module, "TritonPythonModel", None)
    if model is None: raise AttributeError("module 'model' has no attribute 'TritonPythonModel'")
    complete = getattr(model, "auto_complete_config", None)
    if complete is None: report({"config": None, "missing": Missing.names})
    config = complete(ModelConfig())
    if not isinstance(config, ModelConfig):
        raise ValueError("auto_complete_config function in model '%s' must return a valid pb.ModelConfig object." % model_name)
    report({"config": config.as_dict(), "missing": Missing.names})
except BaseException as error:
    report({"error": "%s: %s" % (type(error).__name__, error), "missing": Missing.names})
`
