"""SuperDSC to JSON."""

import json


def generate_sdsc(sdsc_spec, index=0):
    """What ``sdsc_<index>.json`` holds, as a dict."""
    return json.loads(sdsc_spec.json(index))
