"""Which conversions between element types the device has; the table is in C++."""

from torch_spyre import _C


class DtypeOpTable:
    """Pairs of torch types and the device operation that converts the first to the second."""

    _table = {(source, target): op for source, target, op in _C.conversion_operators()}

    @classmethod
    def get_operator(cls, src, dst):
        """The operation, or None where the host converts."""
        return cls._table.get((src, dst))

    @classmethod
    def get_table(cls):
        return dict(cls._table)

    @classmethod
    def get_dtype_pairs(cls):
        return list(cls._table)

    @classmethod
    def is_dtype_op(cls, name):
        return name in cls._table.values()


def is_dtype_op(name):
    return DtypeOpTable.is_dtype_op(name)
