"""Splits of an iteration space, stored by the coefficient of their variable in a flat index. Ours
stand in the ``splits`` of loop IR; this form is for tools that exchange the other one."""

import sympy


def _coefficient(index, symbol):
    return sympy.sympify(index).coeff(symbol)


def splits_by_index_coeff(splits, write_index, read_index):
    """``splits`` (variable to number) as two maps from coefficients: those of the write index, and
    those of the read index for variables that are reduced."""
    written, reduced = {}, {}
    for symbol, split in splits.items():
        write, read = _coefficient(write_index, symbol), _coefficient(read_index, symbol)
        if split > 1 and write != 0:
            written[int(write)] = split
        elif split > 1 and read != 0:
            reduced[int(read)] = split
    return written, reduced


def apply_splits_from_index_coeff(splits, write_index, read_index, it_space):
    """The inverse, for the variables of ``it_space`` (variable to extent): 1 where nothing is
    stored, and for extents of 1."""
    written, reduced = splits
    result = {}
    for symbol, extent in it_space.items():
        write, read = _coefficient(write_index, symbol), _coefficient(read_index, symbol)
        result[symbol] = 1
        if sympy.sympify(extent).is_number and extent <= 1:
            continue
        if write != 0:
            result[symbol] = written.get(int(write), 1)
        elif read != 0:
            result[symbol] = reduced.get(int(read), 1)
    return result
