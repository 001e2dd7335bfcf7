"""What the configuration says to the compiler, in the compiler's own type."""

import os

from torch_spyre import _C
from torch_spyre._inductor import config


def cache_directory():
    """Folder of compiled models; empty when there is none."""
    import torch

    if not config.compile_cache or torch.compiler.config.force_disable_caches:
        return ""
    if config.cache_dir:
        return os.path.abspath(config.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "openspyre") if os.path.isabs(base) else ""


def eager():
    """The settings of single operations: users' passes are for graphs."""
    settings = _C.CompileSettings()
    settings.cores = config.sencores
    settings.cache_directory = cache_directory()
    settings.cache_limit_bytes = config.cache_limit_mb << 20
    return settings


def current(extensions=None):
    """The settings of a graph as they are now; a compilation keeps those it began with."""
    settings = eager()
    pipelines = dict(config.pass_pipelines)
    plugins = list(config.pass_plugins)
    if extensions is not None:
        plugins += extensions.plugins()
        for point, text in extensions.pipelines().items():
            pipelines[point] = ",".join(filter(None, (pipelines.get(point), text)))
    settings.pass_plugins = [os.path.abspath(path) for path in dict.fromkeys(plugins)]
    settings.user_passes = pipelines
    return settings
