"""Arrays of NumPy: those that have the memory of a tensor, and what is surely one, so that a copy is on the CPU."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge.libraries import ARRAY
from torchdevlint.flow.scope.annotations import named_in
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.flow.scope.uses import bindings_in, uses_in
from torchdevlint.flow.state.devices import CPU
from torchdevlint.flow.state.joins import is_number
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, UNKNOWN, Library, Ref, Seq, Tensor, Unknown, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, is_inside, keyword_of, nodes_in, parts_of_sequence

_ONLY_OF_ARRAYS = frozenset({"astype", "to_numpy"})
_KEEPS = frozenset({"copy", "clip", "round"})
"""Methods of arrays that leave their dimensions as they are."""
_WITH_DIMENSIONS = frozenset(
    """
    array arange linspace logspace geomspace zeros ones empty full eye identity indices load loadtxt genfromtxt fromiter
    fromfile frombuffer fromstring stack hstack vstack dstack column_stack concatenate append insert delete tile repeat
    outer ravel tril triu tri diag vander meshgrid argwhere nonzero flatnonzero unique sort argsort partition
    argpartition cumsum cumprod diff gradient convolve bincount atleast_1d atleast_2d atleast_3d expand_dims pad
    hanning hamming blackman bartlett kaiser random.permutation
    """.split()
)
_OF_DATA = frozenset({"array", "asarray"})
_DRAWS = frozenset(
    """
    beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric integers laplace
    logistic lognormal logseries multinomial multivariate_normal negative_binomial normal pareto poisson power randint
    random random_integers random_sample rayleigh rvs sample standard_cauchy standard_exponential standard_gamma
    standard_normal standard_t triangular uniform vonmises wald weibull zipf
    """.split()
)
"""What generators of NumPy and distributions of SciPy draw, as many as ``size=`` says."""
_DRAWS_OF_SIZES = frozenset({"rand", "randn"})
_ASKING = frozenset({"Tensor", "is_tensor", "hasattr"})
"""What asks whether something is a tensor, or is what it is told."""
_MAX_HOPS = 3
"""How many names are followed to what they are bound to."""
_LIBRARIES = frozenset("numpy scipy sklearn pandas cv2 PIL skimage librosa soundfile imageio h5py imblearn".split())
"""Libraries whose functions compute on the CPU and give arrays, numbers and tables: no tensor comes out of them."""

_NUMBERS = tuple(Ref(f"builtins.{name}") for name in ("len", "int", "float"))


def array_of(tensor: Tensor) -> Value:
    """What ``.numpy()`` gives: the same memory, which counts where a copy that does not block may still write it."""
    made = tensor.steps[-1].node if tensor.device == CPU and tensor.steps else None
    return Library(ARRAY, children=(tensor,)) if made is not None and _does_not_block(made) else UNKNOWN


def _does_not_block(node: ast.AST) -> bool:
    """``t.to("cpu", non_blocking=True)``."""
    return isinstance(node, ast.Call) and any(each.arg == "non_blocking" for each in node.keywords)


def array_dimensions(frame: Frame, state: State, node: ast.expr) -> tuple[bool, int | None]:
    """Whether an expression is surely an array or a number of NumPy, by what makes it, and how many dimensions it has.

    A method that only arrays have makes one, as any function of NumPy and of its kin does; a name stands for what it is
    bound to, but for what is made of it there: in ``w = torch.tensor(w)``, `w` was bound before.
    """
    return _array_dimensions(frame, state, node, _MAX_HOPS)


def _array_dimensions(frame: Frame, state: State, node: ast.expr, hops: int) -> tuple[bool, int | None]:
    if isinstance(node, ast.Name) and hops:
        return _of_name(frame, state, node, hops)
    if isinstance(node, ast.BinOp):
        sides = [_array_dimensions(frame, state, each, hops) for each in _sides(node)]
        arrays = [known for known, _ in sides]
        known = any(arrays) and all(
            arrays[at] or _is_number(frame, state, each) for at, each in enumerate(_sides(node))
        )
        return known, _broadcast([ndim for known, ndim in sides if known]) if known else None
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_array_dimensions(frame, state, each, hops)[0] for each in node.elts), None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        known, ndim = _array_dimensions(frame, state, node.value, hops)
        return known, ndim or AT_LEAST_1
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return _array_dimensions(frame, state, node.value, hops)[0], None
    return _of_call(frame, state, node, hops) if isinstance(node, ast.Call) else (False, None)


def picks_several(frame: Frame, state: State, index: ast.expr) -> bool:
    """Whether an index, or a part of it, is a list that is written there or an array: either becomes a tensor."""
    if isinstance(index, ast.Tuple):
        return any(picks_several(frame, state, each) for each in index.elts)
    if isinstance(index, ast.List):
        return bool(index.elts) and not any(isinstance(each, ast.Slice) for each in index.elts)
    return isinstance(index, (ast.Name, ast.Subscript)) and bool(array_dimensions(frame, state, index)[1])


def _broadcast(dimensions: list[int | None]) -> int | None:
    """How many dimensions arrays have together: none where each is one number, else as many as those that are known."""
    if all(each == 0 for each in dimensions):
        return 0
    return max((each for each in dimensions if each), default=None)


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def _is_number(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether it is a number by its name, or by the function that gives it: an array times a tensor may be a tensor."""
    if isinstance(node, ast.Call):
        return dotted_path(node.func) is not None and frame.evaluate(node.func, state) in _NUMBERS
    return (isinstance(node, ast.Constant) or dotted_path(node) is not None) and is_number(frame.evaluate(node, state))


def _is_given_to_numpy(frame: Frame, function: AnyFunction, name: str) -> bool:
    """``np.concatenate((first, last))``: NumPy takes no tensor of an accelerator, and nothing asks what it is."""
    uses, places = uses_in(function).get(name), bindings_in(function).get(name, ())
    if uses is None or uses.class_is_asked_for or any(bound for _, bound, _ in places):
        return False
    for call in nodes_in(function, ast.Call):
        given = [part for each in call.args for part in parts_of_sequence(each)]
        if any(isinstance(each, ast.Name) and each.id == name for each in given):
            callee = frame.evaluate(call.func, State({})) if dotted_path(call.func) is not None else None
            if isinstance(callee, Ref) and callee.name.startswith("numpy."):
                return True
    return False


def _is_annotated_array(frame: Frame, function: AnyFunction, name: str) -> bool:
    """``x: np.ndarray``, ``xs: list[np.ndarray]``, and a union of both, where nothing asks whether it is a tensor."""
    spec = function.args
    parameters = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
    named = named_in(next((each.annotation for each in parameters if each.arg == name), None))
    kinds = [frame.evaluate(each, State({})) for each in named]
    if not kinds or not all(isinstance(each, Ref) and each.name.startswith("numpy.") for each in kinds):
        return False
    asking = [call for call in nodes_in(function, ast.Call) if call.args and dotted_path(call.args[0]) == name]
    asked = [part for call in asking for each in (call.func, *call.args[1:]) for part in inside(each)]
    return not any(isinstance(each, (ast.Name, ast.Attribute)) and last_name(each) in _ASKING for each in asked)


def _of_name(frame: Frame, state: State, node: ast.Name, hops: int) -> tuple[bool, int | None]:
    scope = frame.function or frame.machine.tree
    is_given = frame.function is not None and node.id in parameter_names(frame.function)
    if frame.function is not None and is_given:
        if _is_given_to_numpy(frame, frame.function, node.id):
            return True, None
        if not _is_annotated_array(frame, frame.function, node.id):
            return False, None
    values = values_by_path(scope).get(node.id, [])
    stores = (each for each in nodes_in(scope, ast.Name) if isinstance(each.ctx, ast.Store))
    if not (values or is_given) or sum(each.id == node.id for each in stores) != len(values):
        return False, None
    earlier = [each for each in values if not is_inside(node, each)]
    bound = [_array_dimensions(frame, state, each, hops - 1) for each in earlier]
    known = (is_given or bool(bound)) and all(known for known, _ in bound)
    dimensions = {each for _, each in bound}
    return known, dimensions.pop() if len(dimensions) == 1 and not is_given else None


def _of_call(frame: Frame, state: State, node: ast.Call, hops: int) -> tuple[bool, int | None]:
    """What a function of such a library gives, and what a method of an array does."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ONLY_OF_ARRAYS:
        return True, _array_dimensions(frame, state, node.func.value, hops)[1]
    maker = frame.evaluate(node.func, state) if dotted_path(node.func) is not None else UNKNOWN
    library, _, function = maker.name.partition(".") if isinstance(maker, Ref) else ("", "", "")
    if library == "numpy" and function in _OF_DATA and _is_of_number(frame, state, node):
        return True, 0
    if library in _LIBRARIES:
        return True, _dimensions_of_made(frame, state, node, library, function)
    if not isinstance(node.func, ast.Attribute) or isinstance(maker, Ref):
        return False, None
    drawn = _dimensions_drawn(frame, state, node, node.func.attr) if type(maker) is Unknown else None
    if drawn is not None:
        return True, drawn
    known, ndim = _array_dimensions(frame, state, node.func.value, hops)
    return known, ndim if node.func.attr in _KEEPS else _shaped(node.func.attr, node.args)


def _shaped(method: str, told: list[ast.expr]) -> int | None:
    """How many dimensions ``reshape(3, -1)``, ``reshape((3, -1))`` and ``ravel()`` give."""
    if method in ("flatten", "ravel"):
        return 1
    shape = told[0].elts if len(told) == 1 and isinstance(told[0], (ast.Tuple, ast.List)) else told
    if method != "reshape" or any(isinstance(each, ast.Starred) for each in shape):
        return None
    sized = len(shape) > 1 or shape is not told or (bool(told) and isinstance(told[0], (ast.Constant, ast.UnaryOp)))
    return len(shape) if sized else None


def _dimensions_of_made(frame: Frame, state: State, node: ast.Call, library: str, function: str) -> int | None:
    if library == "numpy" and function in _WITH_DIMENSIONS:
        return AT_LEAST_1
    module, _, name = function.rpartition(".")
    return _dimensions_drawn(frame, state, node, name) if module.startswith(("random", "stats")) else None


def _dimensions_drawn(frame: Frame, state: State, node: ast.Call, drawn: str) -> int | None:
    """How many dimensions ``rng.uniform(size=(n, 3))`` and ``rng.randn(n, 3)`` have, as NumPy and SciPy draw alone."""
    if drawn in _DRAWS_OF_SIZES:
        return len(node.args) or None if not any(isinstance(each, ast.Starred) for each in node.args) else None
    size = keyword_of(node, "size") if drawn in _DRAWS else None
    value = frame.evaluate(size, state) if size is not None else None
    if isinstance(value, Seq):
        return AT_LEAST_1
    return 1 if value is not None and is_number(value) else None


def _is_of_number(frame: Frame, state: State, node: ast.Call) -> bool:
    """``np.array(0.0)`` and ``np.asarray(scale, dtype=np.float32)``: an array without dimensions."""
    is_plain = len(node.args) == 1 and all(each.arg == "dtype" for each in node.keywords)
    return is_plain and is_number(frame.evaluate(node.args[0], state))
