"""Logger of the component ``spyre.inductor``. A module, because TORCH_LOGS takes names of modules."""

import logging

log = logging.getLogger("spyre.inductor")
