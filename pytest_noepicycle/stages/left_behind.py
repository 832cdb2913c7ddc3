"""What a test leaves behind by its own code: a change of something that outlives it, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from pytest_noepicycle.stages.test_source import Function, Read, TestModule

_CHANGES = frozenset(
    {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"}
)
_OF_THE_PROCESS = frozenset(
    {"chdir", "putenv", "unsetenv", "umask", "setlocale", "tzset", "seed", "setrecursionlimit", "simplefilter"}
    | {"basicConfig", "set_event_loop_policy", "filterwarnings", "setcontext", "register_adapter", "reload", "setattr"}
    | {"delattr", "write_text", "write_bytes", "mkdir", "touch", "makedirs"}
)


def leaves_something(test: str, read: Read) -> bool:
    """Whether a test, with what it uses of its files, changes what outlives it; True where that is unknown."""
    path = test.split("::")[0]
    module = TestModule.read(path, read)
    function = module.function(test)
    if function is None:
        return True
    known = {name.rpartition("::")[2]: made for name, made in _within_reach(path, module, read)}
    return any(_changes(one, _own_names(module)) for one in _used(function, known))


def _within_reach(path: str, module: TestModule, read: Read) -> Iterator[tuple[str, Function]]:
    for folder in reversed(PurePosixPath(path).parents):
        name = "conftest.py" if str(folder) == "." else f"{folder}/conftest.py"
        yield from TestModule.read(name, read).functions.items()
    yield from module.functions.items()


def _used(function: Function, known: dict[str, Function]) -> Iterable[Function]:
    """Return a function and all that it calls, asks for as a fixture, or has set up around it."""
    found: dict[str, Function] = {function.name: function}
    waiting = [function, *(made for name, made in known.items() if _surrounds(name, made))]
    while waiting:
        one = waiting.pop()
        found[one.name] = one
        names = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)} | {a.arg for a in one.args.args}
        attributes = {node.attr for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        waiting += [known[name] for name in (names | attributes) & known.keys() - found.keys()]
    return found.values()


def _surrounds(name: str, function: Function) -> bool:
    autouse = any("autouse" in ast.unparse(decorator) for decorator in function.decorator_list)
    return autouse or name.startswith(("setup", "setUp", "teardown", "tearDown"))


def _own_names(module: TestModule) -> frozenset[str]:
    """Return the names that the file of tests itself gives to values."""
    body = module.tree.body if module.tree else []
    targets = (t for s in body if isinstance(s, ast.Assign | ast.AnnAssign) for t in _targets(s))
    return frozenset(target.id for target in targets if isinstance(target, ast.Name))


def _changes(function: Function, own: frozenset[str]) -> bool:
    local = _local(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            return True
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            if any(_outlives(target, local) for target in _targets(node)):
                return True
        elif isinstance(node, ast.Call) and _changing_call(node, local, own):
            return True
    return False


def _local(function: Function) -> frozenset[str]:
    """Return the names that a function gives to values of its own, and those that pytest undoes for it."""
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(stored | {argument.arg for argument in function.args.args})


def _targets(node: ast.stmt) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]  # type: ignore[attr-defined]
    return [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]


def _outlives(target: ast.expr, local: frozenset[str]) -> bool:
    if not isinstance(target, ast.Attribute | ast.Subscript):
        return False
    root = _root(target)
    return root is not None and root not in local


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _changing_call(call: ast.Call, local: frozenset[str], own: frozenset[str]) -> bool:
    """Whether a call changes the process or a file, a value of the tests' own file, or reaches into a module's data."""
    if isinstance(call.func, ast.Name):
        return call.func.id in _OF_THE_PROCESS or (call.func.id == "open" and _writes(call))
    if not isinstance(call.func, ast.Attribute):
        return False
    holder = call.func.value
    if call.func.attr in _OF_THE_PROCESS:
        return not {node.id for node in ast.walk(holder) if isinstance(node, ast.Name)} & local
    root = _root(holder)
    if root is None or root in local:
        return False
    data = root in own or isinstance(holder, ast.Attribute) or (isinstance(holder, ast.Name) and holder.id.isupper())
    return call.func.attr in _CHANGES and data


def _writes(call: ast.Call) -> bool:
    """Whether a file of a literal name is opened to be written: one of the test's own folder has no literal name."""
    named, *modes = [*call.args[:2], *(word.value for word in call.keywords if word.arg == "mode")] or [call]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant)]
    return isinstance(named, ast.Constant) and any(set(str(text)) & set("wax+") for text in texts)
