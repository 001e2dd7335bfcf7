"""Logger of the component ``spyre.runtime``. A module, because TORCH_LOGS takes names of modules."""

import logging

log = logging.getLogger("spyre.runtime")
