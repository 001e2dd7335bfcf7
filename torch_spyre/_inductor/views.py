"""Coordinates of index expressions, as sympy has them. The algorithm is in C++
(``include/spyre/Layout/IndexCoordinates.h``); here sympy is taken apart and put together."""

import collections

import sympy

from torch_spyre import _C
from torch_spyre._inductor.errors import Unsupported

__all__ = ["Term", "align_tensors", "compute_coordinates", "matching_dim", "normalize_coordinates"]

#: ``num * (var % mod) // den + offset`` in a dimension of ``dim_size``; ``var`` None: the offset alone.
Term = collections.namedtuple("Term", "num den var mod dim_size offset")


def _is_modular(expression):
    return type(expression).__name__ == "ModularIndexing"


def _modulus(expression):
    """(argument, modulus) of a modulo, sympy's or torch's, else None."""
    if _is_modular(expression):
        base, divisor, modulus = expression.args
        return (base, modulus) if divisor == 1 else None
    if type(expression).__name__ in ("Mod", "PythonMod"):
        return expression.args
    return None


def _term(part, position):
    """(variable, coefficient, modulus) of one summand."""
    coefficient, rest = part.as_coeff_Mul()
    if rest in position and coefficient.is_integer:
        return position[rest], int(coefficient), 0
    modulo = _modulus(rest)
    if modulo and modulo[0] in position and modulo[1].is_integer and coefficient.is_integer:
        return position[modulo[0]], int(coefficient), int(modulo[1])
    raise Unsupported(
        f"Spyre backend does not support: index term {part}; give multiples of variables, or of a "
        "variable modulo a number"
    )


def compute_coordinates(size, stride, var_ranges, index):
    """One expression per dimension of a tensor (or of a device layout: device_size, stride_map)
    for the flat ``index`` over the variables of ``var_ranges``."""
    index = sympy.expand(sympy.sympify(index))
    symbols = list(var_ranges) + sorted(index.free_symbols - set(var_ranges), key=str)
    position = {symbol: i for i, symbol in enumerate(symbols)}
    variables = [(str(symbol), int(var_ranges.get(symbol, 0))) for symbol in symbols]
    terms, offset = [], 0
    for part in sympy.Add.make_args(index):
        if part.is_number:
            offset += int(part)
        else:
            terms.append(_term(part, position))
    result = _C.compute_coordinates(
        [int(s) for s in size], [int(s) for s in stride], variables, terms, offset
    )
    return [
        sympy.Integer(constant) + sum(_expression(symbols, *term) for term in terms)
        for constant, terms in result
    ]


def _expression(symbols, variable, variable_modulus, scale, moduli, divisor):
    value = symbols[variable]
    if variable_modulus:
        value = sympy.Mod(value, variable_modulus)
    value = scale * value
    for modulus in moduli:
        value = sympy.Mod(value, modulus)
    return sympy.floor(value / divisor) if divisor != 1 else value


def _plain_term(part, position, ranges):
    """(num, den, variable, mod) of one summand of a coordinate; floors are implied."""
    scale, rest = part.as_coeff_Mul()
    if isinstance(rest, sympy.floor):
        inner, rest = rest.args[0].as_coeff_Mul()
        scale *= inner
    modulo = _modulus(rest)
    symbol, mod = modulo if modulo else (rest, ranges.get(rest))
    if symbol not in position or not scale.is_rational or not sympy.sympify(mod).is_integer:
        raise AssertionError(f"Unsupported coordinate expression {part}")
    return int(scale.p), int(scale.q), position[symbol], int(mod)


def _plain_tensor(size, coordinates, position, ranges, opaque):
    plain = []
    for coordinate in coordinates:
        coordinate = sympy.sympify(coordinate)
        if coordinate.free_symbols - set(position) or coordinate.atoms(sympy.Function) - (
            coordinate.atoms(sympy.floor, sympy.Mod)
        ):
            opaque.append(coordinate)
            plain.append(([], 0, len(opaque) - 1))
            continue
        offset, rest = coordinate.as_coeff_Add()
        terms = [] if rest == 0 else sympy.Add.make_args(rest)
        plain.append(([_plain_term(t, position, ranges) for t in terms], int(offset), -1))
    return [int(s) for s in size], plain


def _new_symbol(number):
    return sympy.Symbol(f"z{number}", integer=True, nonnegative=True)


def normalize_coordinates(device_size, coordinates, var_ranges):
    """The coordinates as a list of :class:`Term`, the stick last."""
    symbols, opaque = list(var_ranges), []
    position = {symbol: i for i, symbol in enumerate(symbols)}
    tensor = _plain_tensor(device_size, coordinates, position, var_ranges, opaque)
    result = []
    for num, den, variable, mod, size, offset, kept in _C.normalize_coordinates(
        tensor, len(symbols)
    ):
        if variable >= len(symbols):
            symbols += [_new_symbol(variable - len(position))]
        var = None if variable < 0 else symbols[variable]
        result.append(Term(num, den, var, mod, size, opaque[kept] if kept >= 0 else offset))
    return result


def align_tensors(it_space, tensors):
    """``it_space``: variable to (range, core split); ``tensors``: (device_size, coordinates) each.
    Both again, such that only stick dimensions divide a variable."""
    symbols, opaque = list(it_space), []
    position = {symbol: i for i, symbol in enumerate(symbols)}
    ranges = {symbol: extent for symbol, (extent, _) in it_space.items()}
    plain = [_plain_tensor(*tensor, position, ranges, opaque) for tensor in tensors]
    space, aligned = _C.align_tensors([tuple(map(int, v)) for v in it_space.values()], plain)
    symbols += [_new_symbol(i) for i in range(len(space) - len(symbols))]
    result = [
        (
            [dim[0] for dim in dims],
            [_aligned_expression(symbols, opaque, *dim[1:]) for dim in dims],
        )
        for dims in aligned
    ]
    return dict(zip(symbols, space)), result


def _aligned_expression(symbols, opaque, variable, divisor, modulus, offset, kept):
    if kept >= 0:
        return opaque[kept]
    if variable < 0:
        return sympy.Integer(offset)
    value = symbols[variable]
    if divisor:
        value = sympy.floor(value / divisor)
    if modulus:
        value = sympy.Mod(value, modulus)
    return value + offset


def matching_dim(coordinates, expression):
    """The one dimension whose coordinate takes the values of ``expression`` (of one variable), or
    None: the variable itself, or a modulo of it that is not finer."""
    offset, core = sympy.sympify(expression).as_coeff_Add()
    if len(core.free_symbols) != 1:
        return None
    (symbol,) = core.free_symbols
    modulo = _modulus(core)
    matches = []
    for dim, coordinate in enumerate(coordinates):
        own_offset, own = sympy.sympify(coordinate).as_coeff_Add()
        own_modulo = _modulus(own)
        is_finer = (
            modulo
            and own_modulo
            and own_modulo[0] == modulo[0] == symbol
            and modulo[1] <= own_modulo[1]
        )
        if own_offset == offset and (own == symbol or is_finer):
            matches.append(dim)
    return matches[0] if len(matches) == 1 else None
