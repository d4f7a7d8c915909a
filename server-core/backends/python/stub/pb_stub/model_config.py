import json


class ModelConfig:
    """The config that `auto_complete_config` of a model completes."""

    def __init__(self, model_config):
        """`model_config`: the config as JSON, or read from it."""
        self._model_config = json.loads(model_config) if isinstance(model_config, str) else model_config

    @property
    def _where(self):
        return "auto-complete-config function for model '%s'" % self._model_config["name"]

    def as_dict(self):
        return self._model_config

    def set_max_batch_size(self, max_batch_size):
        written = self._model_config.get("max_batch_size", 0)
        if written > max_batch_size:
            raise ValueError("configuration specified max_batch_size %d, but in %s specified max_batch_size %d" % (written, self._where, max_batch_size))
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        for choice in ("sequence_batching", "ensemble_scheduling"):
            if choice in self._model_config:
                raise ValueError(
                    "Configuration specified scheduling_choice as '%s', but %s tries to set scheduling_choice as 'dynamic_batching'" % (choice, self._where)
                )
        self._model_config.setdefault("dynamic_batching", {})

    def set_model_transaction_policy(self, transaction_policy_dict):
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError("model transaction property in %s contains property other than 'decoupled'." % self._where)
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = bool(transaction_policy_dict["decoupled"])
        written = self._model_config.get("model_transaction_policy")
        if written is not None and bool(written.get("decoupled", False)) != wanted:
            raise ValueError("trying to change decoupled property in auto-complete-config for model '%s', which is already set to '%s'." % (
                self._model_config["name"], bool(written.get("decoupled", False))))
        self._model_config["model_transaction_policy"] = {"decoupled": wanted}

    def add_input(self, input):
        self._add("input", input, ("name", "data_type", "dims", "optional"), "'name', 'data_type', 'dims' and 'optional'")

    def add_output(self, output):
        self._add("output", output, ("name", "data_type", "dims"), "'name', 'data_type' and 'dims'")

    def _add(self, role, tensor, properties, listed):
        if "name" not in tensor:
            raise ValueError("%s in %s is missing 'name' property." % (role, self._where))
        name = tensor["name"]
        for key in tensor:
            if key not in properties:
                raise ValueError("%s '%s' in %s contains property other than %s." % (role, name, self._where, listed))
        for key in ("data_type", "dims"):
            if key not in tensor:
                raise ValueError("%s '%s' in %s is missing '%s' property." % (role, name, self._where, key))
        tensor = dict(tensor, dims=[int(dim) for dim in tensor["dims"]])
        tensors = self._model_config.setdefault(role, [])
        for written in tensors:
            if written["name"] == name:
                self._complete(role, written, tensor)
                return
        tensors.append(tensor)

    def _complete(self, role, written, tensor):
        """What the config says of a tensor has to agree; what it leaves out is filled in."""
        model, name = self._model_config["name"], tensor["name"]
        written_type = written.get("data_type", "TYPE_INVALID")
        if written_type == "TYPE_INVALID":
            written["data_type"] = tensor["data_type"]
        elif written_type != tensor["data_type"]:
            raise ValueError("unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s" % (
                model, written_type, role, name, tensor["data_type"]))
        written_dims = [int(dim) for dim in written.get("dims", [])]
        if not written_dims:
            written["dims"] = tensor["dims"]
        elif written_dims != tensor["dims"]:
            raise ValueError("model '%s', tensor '%s': the model expects dims %s but the model configuration specifies dims %s" % (
                model, name, tensor["dims"], written_dims))
        if "optional" in tensor:
            written_optional = bool(written.get("optional", False))
            if written_optional and not tensor["optional"]:
                raise ValueError("model '%s', tensor '%s': the model expects optional %s but the model configuration specifies optional %s" % (
                    model, name, tensor["optional"], written_optional))
            written["optional"] = bool(tensor["optional"])


def get_input_config_by_name(model_config, name):
    """The input of that name in a config (a dict), or None."""
    return _find(model_config.get("input", ()), name)


def get_output_config_by_name(model_config, name):
    """The output of that name in a config (a dict), or None."""
    return _find(model_config.get("output", ()), name)


def using_decoupled_model_transaction_policy(model_config):
    """Does the config (a dict) say `model_transaction_policy { decoupled: true }`?"""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def _find(tensors, name):
    for tensor in tensors:
        if tensor["name"] == name:
            return tensor
    return None
