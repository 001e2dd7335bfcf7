"""Capture of spyre graphs for ``torch.compile``; a thin layer over the C++ compiler."""
