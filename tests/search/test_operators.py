"""Each operator as a table: a source, and what the operator makes of it."""

import ast

import pytest

from pytest_noepicycle.rungs.search.hints import Hints
from pytest_noepicycle.rungs.search.operators import OPERATORS
from pytest_noepicycle.rungs.search.scope import Scope
from pytest_noepicycle.rungs.search.source import Source
from pytest_noepicycle.rungs.search.weights import LIKELIHOOD


def edited(name, text, hints=None):
    """Return every source that one operator makes of a text."""
    source = Source.decode(text.encode())
    scope = Scope("m.py", source, ast.parse(text), hints or Hints())
    operator = OPERATORS[name]
    found = []
    for statement in scope.statements:
        for node in scope.own_nodes(statement):
            if isinstance(node, operator.kinds):
                found += [source.replaced(e.start, e.end, e.text) for e in operator.find(node, scope)]
    return found


# Everything that the operator makes of the source, in its order.
ITEM = "class Item:\n    price: int\n\n    @property\n    def total(self):\n        return 1\n\n"
ALL = [
    ("comparison-boundary", "a < b", ["a <= b"]),
    ("comparison-boundary", "a >= b > c", ["a > b > c", "a >= b >= c"]),
    ("comparison-boundary", "é < b", ["é <= b"]),
    ("comparison-boundary", "a == b", []),
    ("comparison", "a == b", ["a != b", "a <= b", "a >= b", "a is b", "a in b"]),
    ("comparison", "(a)is  not(b)", ["(a) is (b)", "(a)!=(b)"]),
    ("comparison", "a not in b", ["a in b", "a != b"]),
    ("comparison", "(a)==(b)", ["(a)!=(b)", "(a)<=(b)", "(a)>=(b)", "(a) is (b)", "(a) in (b)"]),
    ("swapped-operands", "x = a - b", ["x = b - a"]),
    ("swapped-operands", "x = a + b < c", ["x = c < (a + b)", "x = b + a < c"]),
    ("swapped-operands", "x = a == b", []),
    ("off-by-one", "x[i]", ["x[i - 1]", "x[i + 1]"]),
    ("off-by-one", "x[i + 1]", ["x[i]"]),
    ("off-by-one", "range(n)", ["range(n - 1)", "range(n + 1)"]),
    ("off-by-one", "x[a:]", ["x[a - 1:]", "x[a + 1:]"]),
    ("range-start", "range(n)", ["range(1, n)", "range(1, n + 1)"]),
    ("arithmetic-operator", "x + y", ["x - y", "x * y", "x | y"]),
    ("arithmetic-operator", "(x)//(y)", ["(x)/(y)", "(x)%(y)", "(x)*(y)", "(x)>>(y)"]),
    ("arithmetic-operator", "'%s' % x", []),
    ("augmented-assignment", "x += y", ["x -= y", "x *= y", "x |= y", "x = y"]),
    ("sign", "x = -y", ["x = y"]),
    ("sign", "x = f(y)", ["x = -f(y)", "x = f(-y)"]),
    ("grouping", "x = a + b / c", ["x = (a + b) / c"]),
    ("grouping", "x = (a + b) / c", ["x = a + b / c"]),
    ("boolean-operator", "a and b", ["a or b"]),
    ("boolean-operator", "a or b or c", ["a and b or c", "a or b and c", "a and b and c"]),
    ("superfluous-condition", "a and b", ["b", "a"]),
    ("superfluous-not", "not a", ["a"]),
    ("missing-not", "if a:\n    pass", ["if not a:\n    pass"]),
    ("missing-not", "if a < b:\n    pass", []),
    ("missing-not", "[x for x in y if x]", ["[x for x in y if not x]"]),
    ("none-or-false", "if not a:\n    pass", ["if a is None:\n    pass"]),
    ("none-or-false", "if a is not None:\n    pass", ["if a:\n    pass"]),
    ("swapped-arms", "x = a if t else b", ["x = b if t else a"]),
    ("default-for-none", "x = a or b", ["x = a if a is not None else b"]),
    ("elif", "if a:\n    x\nif b:\n    y", ["if a:\n    x\nelif b:\n    y"]),
    ("elif", "if a:\n    x\nelif b:\n    y", ["if a:\n    x\nif b:\n    y"]),
    ("truth-value", "x = True", ["x = False"]),
    ("swapped-fields", "f'{a} {b}'", ["f'{b} {a}'"]),
    ("missing-self", "def f(self):\n    self.a = a", ["def f(self):\n    self.a = self.a"]),
    ("superfluous-self", "def f(self, a):\n    return self.a", ["def f(self, a):\n    return a"]),
    ("missing-call", "x = y.lower", ["x = y.lower()"]),
    ("missing-call", "x = y.other", []),
    ("superfluous-call", "x = f(a + b)", ["x = (a + b)"]),
    ("superfluous-call", "x = a.f()", ["x = a", "x = a.f"]),
    ("other-end", "x.pop()", ["x.pop(0)"]),
    ("other-end", "x.pop(0)", ["x.pop()"]),
    ("other-end", "sorted(x)", ["sorted(x, reverse=True)"]),
    ("other-end", "x.sort(reverse=down)", ["x.sort(reverse=not down)"]),
    ("missing-await", "async def f():\n    g()", ["async def f():\n    await g()"]),
    ("missing-await", "def f():\n    g()", []),
    ("yield-from", "def f():\n    yield g()", ["def f():\n    yield from g()"]),
    ("superfluous-yield-from", "def f():\n    yield from g", ["def f():\n    yield g"]),
    ("dropped-yield", "def f(x):\n    yield x\n    f(x)", ["def f(x):\n    yield x\n    yield from f(x)"]),
    ("swapped-arguments", "f(a, b, c)", ["f(b, a, c)", "f(a, c, b)"]),
    ("swapped-owner", "a.join(b)", ["b.join(a)"]),
    ("swapped-owner", "a.seek(0)", []),
    ("starred-argument", "zip(rows)", ["zip(*rows)"]),
    ("starred-argument", "zip(*rows)", ["zip(rows)"]),
    ("superfluous-argument", "f(a, b=c)", ["f(b=c)", "f(a)"]),
    ("wrong-keyword", "def f(a, b):\n    pass\nf(a=1)", ["def f(a, b):\n    pass\nf(b=1)"]),
    ("missing-argument", "def f(a, b):\n    return f(a)", ["def f(a, b):\n    return f(a, b)"] * 2),
    (
        "mutable-default",
        "def f(a=[]):\n    return a",
        ["def f(a=None):\n    if a is None:\n        a = []\n    return a"],
    ),
    ("missing-return", "def f():\n    g()", ["def f():\n    return g()"]),
    ("missing-return", "g()", []),
    ("missing-result", "def f():\n    x = 1\n", ["def f():\n    x = 1\n    return x\n"]),
    ("missing-result", "def f():\n    x = 1", ["def f():\n    x = 1\n    return x"]),
    ("wrong-jump", "for x in y:\n    break", ["for x in y:\n    continue", "for x in y:\n    pass"]),
    ("superfluous-statement", "f()\ng()\n", ["g()\n", "f()\n"]),
    ("superfluous-statement", "if a:\n    f()", ["pass", "if a:\n    pass"]),
    ("out-of-order", "f()\ng()\n", ["g()\nf()\n"]),
    ("too-deep", "for x in y:\n    f()\n    g()\n", ["for x in y:\n    f()\ng()\n"]),
    ("not-deep-enough", "for x in y:\n    f()\ng()\n", ["for x in y:\n    f()\n    g()\n"]),
    ("wrong-result", "def f():\n    return a, b", ["def f():\n    return b, a"]),
    ("dropped-result", "x.strip()", ["x = x.strip()"]),
    ("if-for-while", "if a:\n    f()", ["while a:\n    f()"]),
    ("swapped-pair", "for k, v in x:\n    pass", ["for v, k in x:\n    pass"]),
    ("wrong-target", "def f(a, b):\n    a = 1", ["def f(a, b):\n    b = 1"]),
    ("swapped-names", "x = low - high", ["x = high - low"]),
    ("one-after-the-other", "a = b\nb = a + b\n", ["a, b = b, a + b\n"]),
    ("one-after-the-other", "a = b\nc = a + d\n", []),
    ("late-binding", "[lambda: i for i in x]", ["[lambda i=i: i for i in x]"]),
    ("late-binding", "[lambda a: a + i for i in x]", ["[lambda a, i=i: a + i for i in x]"]),
    (
        "late-binding",
        "for i in x:\n    def f(a=1):\n        return i",
        ["for i in x:\n    def f(a=1, i=i):\n        return i"],
    ),
    ("late-binding", "[lambda i: i for i in x]", []),
    ("shared-rows", "x = [[0] * a] * b", ["x = [[0] * a for _ in range(b)]"]),
    ("shared-rows", "x = [0] * b", []),
    ("toggle", "on = True", ["on = not on"]),
    ("swapped-indices", "x[i][j]", ["x[j][i]"]),
    ("turned-round", "x = a < b and c <= d", ["x = a <= b and c < d"]),
    ("turned-round", "x = min(a, max(b, c))", ["x = max(a, min(b, c))"]),
    ("turned-round", "x = a < b", []),
    ("superfluous-operand", "x = a - b", ["x = a", "x = b"]),
    ("missing-modulo", "x = a[i]\ni = i + 1", ["x = a[i]\ni = (i + 1) % len(a)"]),
    ("missing-lower-bound", "x = i < len(a)", ["x = 0 <= i < len(a)"]),
    ("missing-lower-bound", "x = i < a and j < b", ["x = 0 <= i < a and 0 <= j < b"]),
    (
        "missing-bookkeeping",
        "if a in b:\n    c()",
        ["if a in b:\n    b.remove(a)\n    c()", "if a in b:\n    del b[a]\n    c()"],
    ),
    ("missing-undoing", "s.append(a)\nf()", ["s.append(a)\nf()\ns.pop()", "s.append(a)\nf()\ns.remove(a)"]),
    (
        "missing-flush",
        "for c in t:\n    r.append(w)\n",
        [
            "for c in t:\n    r.append(w)\nif w:\n    r.append(w)\n",
            "for c in t:\n    r.append(w)\nr.append(w)\n",
        ],
    ),
    ("missing-seed", "t = [0] * n\n", ["t = [0] * n\nt[0] = 1\n", "t = [0] * n\nt[0] = True\n"]),
    (
        "missing-progress",
        "while i < n:\n    f(n)\n    n -= 1\n",
        [
            "while i < n:\n    f(n)\n    n -= 1\n    i += 1\n",
            "while i < n:\n    f(n)\n    n -= 1\n    i -= 1\n",
        ],
    ),
    (
        "missing-attribute",
        "class A:\n    def __init__(self, a):\n        self.b = 1",
        [
            "class A:\n    def __init__(self, a):\n        self.b = 1\n        self.a = a",
            "class A:\n    def __init__(self, a):\n        self.b = 1\n        self._a = a",
        ],
    ),
    (
        "stale-variable",
        "def f(g):\n    done = False\n    def h():\n        if not done:\n            g()\n    return h",
        [
            "def f(g):\n    done = False\n    def h():\n        if not done:\n            g()\n"
            "            done = True\n    return h"
        ],
    ),
    ("stale-variable", "def f(x):\n    a = 0\n    for n in x:\n        a += n", []),
    (
        "missing-handover",
        "def f(x):\n    a = b = None\n    for n in x:\n        a = n",
        ["def f(x):\n    a = b = None\n    for n in x:\n        b = a\n        a = n"],
    ),
    ("missing-handover", "def f(x):\n    a = b = None\n    a = x", []),
    (
        "unread-value",
        "def f(x):\n    a = 0\n    for i, n in x:\n        a += 1\n    return a, n",
        ["def f(x):\n    a = 0\n    for i, n in x:\n        a = i\n    return a, n"],
    ),
    (
        "result-not-kept",
        "def f(x):\n    a = g(x)\n    g(a)",
        ["def f(x):\n    a = g(x)\n    a = g(a)"],
    ),
    ("result-not-kept", "def f(x):\n    a = g(x)\n    h(a)", []),
    (
        "missing-jump",
        "def f(x):\n    for n in x:\n        if n:\n            g(n)\n        h(n)",
        [
            "def f(x):\n    for n in x:\n        if n:\n            g(n)\n            continue\n        h(n)",
            "def f(x):\n    for n in x:\n        if n:\n            g(n)\n            break\n        h(n)",
            "def f(x):\n    for n in x:\n        if n:\n            g(n)\n            return\n        h(n)",
        ],
    ),
    ("missing-jump", "def f(x):\n    if x:\n        g(x)", []),
    (
        "early-end",
        "def f(x):\n    for n in x:\n        return",
        ["def f(x):\n    for n in x:\n        continue", "def f(x):\n    for n in x:\n        break"],
    ),
    ("early-end", "def f(x):\n    return", []),
    ("other-owner", "a[k] = b.get(k, 0) + v", ["a[k] = a.get(k, 0) + v"]),
    ("other-owner", "a[k] = v + b[k]", ["a[k] = v + a[k]"]),
    ("other-owner", "a[k] = b[j] + v", []),
    ("toggle", "a.way = -1", ["a.way = -a.way"]),
    ("sign", "a & (1 << b)", ["~a & (1 << b)", "a & (~(1 << b))"]),
    (
        "missing-if-any",
        "def f(x):\n    yield x\n",
        ["def f(x):\n    if x:\n        yield x\n", "def f(x):\n    if x is not None:\n        yield x\n"],
    ),
    ("missing-if-any", "def f(x):\n    g(1)\n", []),
    (
        "uneven-copy",
        "def f(a, b):\n    g(a, h(a))\n    g(b, h(a))",
        ["def f(a, b):\n    g(a, h(a))\n    g(b, h(b))"],
    ),
    ("uneven-copy", "def f(a, b):\n    g(a, h(a))\n    g(b, h(b))", []),
    ("not-below-zero", "x = a - b", ["x = max(0, a - b)"]),
    ("not-below-zero", "x = a - b + c", ["x = max(0, a - b + c)"]),
    ("not-below-zero", "x = a * b", []),
    (
        "missing-difference",
        "def f(a, b):\n    return b * 2",
        ["def f(a, b):\n    return (b - a) * 2", "def f(a, b):\n    return (b + a) * 2"],
    ),
    ("multiple-start", "range(n, m, n)", ["range(n * n, m, n)", "range(n * 2, m, n)"]),
    ("multiple-start", "range(a, m, n)", []),
    ("sign", "x = y[n:]", ["x = -y[n:]", "x = y[-n:]"]),
    ("sign", "f((a, 1))", ["f((-a, 1))"]),
]

# Some of what the operator makes of the source: it may offer more.
SOME = [
    ("missing-accumulation", "for x in y:\n    n = x", ["for x in y:\n    n += x"]),
    ("number", "x = 3", ["x = 4", "x = 2", "x = 0", "x = 1", "x = -1", "x = 30"]),
    ("number", "x = 0.5", ["x = 5", "x = 0.05", "x = 1"]),
    ("initial-value", "x = None", ["x = 0", "x = []", 'x = ""']),
    ("string", "x = 'a-b'", ["x = 'a_b'", "x = 'A-B'", "x = 'a-b '"]),
    ("string", "x = ','", ["x = ';'", "x = ' '", "x = ''"]),
    ("pattern", r"x = r'\d+'", [r"x = r'\d*'", r"x = r'\w+'", r"x = r'\d+$'"]),
    ("wrong-variable", "def f(first, second):\n    return first", ["def f(first, second):\n    return second"]),
    ("wrong-variable", "def f(self, other):\n    self.go()", ["def f(self, other):\n    other.go()"]),
    ("other-text", "f('in')\ng('out')", ["f('out')\ng('out')", "f('in')\ng('in')"]),
    ("wrong-function", "x = min(y)", ["x = max(y)", "x = sum(y)"]),
    ("wrong-attribute", "x.append(y)", ["x.extend(y)", "x.add(y)"]),
    ("wrong-attribute", "x.strip()", ["x.lstrip()", "x.rstrip()"]),
    ("key-may-be-missing", "x = d[k]", ["x = d.get(k)", "x = d.get(k, 0)", "x = d.get(k, [])"]),
    ("wrong-default", "x = d.get(k, 1)", ["x = d[k]", "x = d.get(k, 0)"]),
    ("first-count", "d[k] += 1", ["d[k] = d.get(k, 0) + 1"]),
    ("slice", "x[a:b]", ["x[:b]", "x[a:]", "x"]),
    ("slice", "x[:]", ["x[1:]", "x[:-1]", "x[::-1]"]),
    ("slice", "x[0]", ["x[-1]", "x[1]"]),
    ("missing-copy", "x = y", ["x = list(y)", "x = dict(y)", "x = y.copy()"]),
    ("missing-conversion", "x = f(y)", ["x = str(f(y))", "x = f(int(y))", "x = f(sorted(y))"]),
    ("missing-method", "x = y\nz.strip()", ["x = y.strip()\nz.strip()"]),
    ("off-by-one", "x = a[:len(b)]", ["x = a[:len(b) - 1]"]),
    ("missing-argument", "x = enumerate(y)", ["x = enumerate(y, 1)"]),
    ("grouping", "x = a - b * c / d", ["x = (a - b) * c / d", "x = (a - b * c) / d"]),
    ("missing-method", "if not x:\n    y.strip()", ["if not x.strip():\n    y.strip()"]),
    ("missing-call", "def f(ok, x):\n    return 1 if ok else 2", ["def f(ok, x):\n    return 1 if ok(x) else 2"]),
    (
        "missing-argument",
        "class A:\n    def __init__(self, a=0):\n        self.a = a\n    def f(self):\n        return A()\n",
        [
            "class A:\n    def __init__(self, a=0):\n        self.a = a\n"
            "    def f(self):\n        return A(a=self.a)\n",
        ],
    ),
    ("missing-argument", "a, b = x.split('=')", ["a, b = x.split('=', 1)"]),
    ("wrong-target", "def f():\n    credits = x = 0\n    x += 1", ["def f():\n    credits = x = 0\n    credits += 1"]),
    ("wrong-target", "def f(a, b):\n    for a in b:\n        pass", ["def f(a, b):\n    for b in b:\n        pass"]),
    ("wrong-target", "def f(a, b):\n    del a[0], b", ["def f(a, b):\n    del a[0], a"]),
    (
        "wrong-target",
        "def f(a, b):\n    with a as b:\n        pass",
        ["def f(a, b):\n    with a as a:\n        pass"],
    ),
    ("wrong-target", "old = new = 0\nold = 1", ["old = new = 0\nnew = 1"]),
    ("wrong-variable", "def f(id, x):\n    return id", ["def f(id, x):\n    return x"]),
    ("wrong-attribute", "x.left\ny.right\n", ["x.right\ny.right\n"]),
    ("missing-accumulation", "d[k] = v", ["d[k] = d.get(k, 0) + v"]),
    ("sign", "sorted(x, key=lambda p: (p.a, p.b))", ["sorted(x, key=lambda p: (-p.a, p.b))"]),
    ("off-by-one", "x = a * b", ["x = (a - 1) * b"]),
    ("missing-method", "x = [c for c in t]\ny.lower()", ["x = [c.lower() for c in t]\ny.lower()"]),
    ("missing-conversion", "x = [p for p in t]", ["x = [int(p) for p in t]"]),
    ("missing-conversion", "x = sorted(t)", ['x = "".join(sorted(t))']),
    ("pattern", "x = '[^a-z]'", ["x = '[^a-z]+'"]),
    ("string", "x = 'ascii'", ["x = 'utf-8'"]),
    ("initial-value", "def f(a):\n    best = 0", ["def f(a):\n    best = a[0]"]),
    ("wrong-result", "def f(a):\n    return True", ["def f(a):\n    return not a", "def f(a):\n    return bool(a)"]),
    ("shallow-copy", "x = list(y)", ["x = [list(row) for row in y]"]),
    ("shallow-copy", "x = y[:]", ["x = [list(row) for row in y]"]),
    ("shallow-copy", "x = y.copy()", ["x = [list(row) for row in y]"]),
    ("format", "x = f'{a}'", ["x = f'{a:02d}'", "x = f'{a:.2f}'"]),
    ("format", "x = f'{a:.1f}'", ["x = f'{a:.2f}'", "x = f'{a:.0f}'", "x = f'{a}'"]),
    (
        "dropped-part",
        "def f(a):\n    r = []\n    f(a)\n    return r",
        ["def f(a):\n    r = []\n    r.extend(f(a))\n    return r"],
    ),
    ("part-of-sequence", "zip(a, a)", ["zip(a, a[1:])"]),
    ("part-of-sequence", "for i in range(n):\n    pass", ["for i in reversed(range(n)):\n    pass"]),
    (
        "missing-operand",
        "def f(a, b):\n    return a",
        ["def f(a, b):\n    return a + b", "def f(a, b):\n    return a - b"],
    ),
    ("constant-for-variable", "def f(a):\n    return [0]", ["def f(a):\n    return [a]"]),
    (
        "missing-extreme",
        "if a > best:\n    pass\nbest = a",
        ["if a > best:\n    pass\nbest = max(best, a)", "if a > best:\n    pass\nbest = min(best, a)"],
    ),
    ("missing-part", "def f(a, b):\n    if a:\n        pass", ["def f(a, b):\n    if a and b:\n        pass"]),
    (
        "missing-condition",
        "def f(a, b):\n    if a:\n        g()\n    h()\n",
        ["def f(a, b):\n    if a:\n        g()\n    if a:\n        h()\n"],
    ),
    (
        "missing-reset",
        "def f(t):\n    n = 0\n    for x in t:\n        n += x\n",
        ["def f(t):\n    n = 0\n    for x in t:\n        n += x\n        n = 0\n"],
    ),
    (
        "missing-twin",
        "def f(left, right):\n    r = []\n    r += left\n",
        ["def f(left, right):\n    r = []\n    r += left\n    r += right\n"],
    ),
    (
        "borrowed-line",
        "def f(d):\n    d.clear()\ndef g(d):\n    return d\n",
        ["def f(d):\n    d.clear()\ndef g(d):\n    d.clear()\n    return d\n"],
    ),
    (
        "missing-super",
        "class B(A):\n    def __init__(self, a):\n        self.a = a",
        ["class B(A):\n    def __init__(self, a):\n        super().__init__(a)\n        self.a = a"],
    ),
    ("missing-argument", "def f(*a, **k):\n    return g(*a)", ["def f(*a, **k):\n    return g(*a, **k)"]),
    (
        "wrong-function",
        "def f():\n    def a():\n        pass\n    def b():\n        pass\n    a()",
        ["def f():\n    def a():\n        pass\n    def b():\n        pass\n    b()"],
    ),
    ("part-of-sequence", "x = '+' + a + b", ["x = '+' + a[1:] + b", "x = '+' + a + b[1:]"]),
    ("part-of-sequence", "x = [a for a in y]", ["x = [a for a in y][::-1]"]),
    (
        "missing-operand",
        "class A:\n    def f(self, x):\n        return x, self.now()\n\n    def g(self, x):\n        return x\n",
        [
            "class A:\n    def f(self, x):\n        return x, self.now()\n\n"
            "    def g(self, x):\n        return x + self.now()\n"
        ],
    ),
    ("number", "def f(x):\n    return x / 1000 + 1024", ["def f(x):\n    return x / 1024 + 1024"]),
    ("missing-copy", "a.x = {}\na.y = a.x", ["a.x = {}\na.y = dict(a.x)"]),
    (
        "stale-variable",
        "def f(x):\n    start = 0\n    for i, n in x:\n        if n < start:\n            total = 0",
        [
            "def f(x):\n    start = 0\n    for i, n in x:\n        if n < start:\n"
            "            total = 0\n            start = i",
            "def f(x):\n    start = 0\n    for i, n in x:\n        if n < start:\n"
            "            total = 0\n            start = n",
        ],
    ),
    (
        "unfinished-copy",
        "def f(x):\n    for a, b in x:\n        n.setdefault(a, set()).add(b)\n        n.setdefault(b, set())",
        ["def f(x):\n    for a, b in x:\n        n.setdefault(a, set()).add(b)\n        n.setdefault(b, set()).add(a)"],
    ),
]

# What the operator makes of it when the failure says something.
HINTED = [
    (
        "missing-fallback",
        "def f(x):\n    y = [a for a in x if a]\n    return min(y)",
        Hints(crashes={("m.py", 3): "ValueError"}),
        ["def f(x):\n    y = [a for a in x if a]\n    return min(y or x)"],
    ),
    (
        "missing-if-any",
        "def f(x):\n    x.pop()\n",
        Hints(crashes={("m.py", 2): "IndexError"}),
        ["def f(x):\n    if x:\n        x.pop()\n"],
    ),
    (
        "result-not-kept",
        "def f(x):\n    f(x.a)",
        Hints(),
        ["def f(x):\n    x.a = f(x.a)"],
    ),
    ("undefined-name", "x = totl", Hints(missing={"totl"}, meant={"totl": "total"}), []),
    (
        "undefined-name",
        "total = 1\nx = totl",
        Hints(missing={"totl"}, meant={"totl": "total"}),
        ["total = 1\nx = total"],
    ),
    ("missing-import", '"""Doc."""\nx = math.pi', Hints(missing={"math"}), ['"""Doc."""\nimport math\nx = math.pi']),
    (
        "missing-import",
        "from __future__ import annotations\nimport os\nx = Path()",
        Hints(missing={"Path"}),
        ["from __future__ import annotations\nfrom pathlib import Path\nimport os\nx = Path()"],
    ),
    (
        "wrong-attribute",
        ITEM + "x = [i.price for i in y]",
        Hints(),
        [ITEM + "x = [i.total for i in y]"],
    ),
    (
        "imported-name",
        "from a import sqare",
        Hints(missing={"sqare"}, meant={"sqare": "square"}),
        ["from a import square"],
    ),
    (
        "imported-name",
        "from a import sqare\nx = sqare(2)",
        Hints(missing={"sqare"}, meant={"sqare": "square"}),
        ["from a import square as sqare\nx = sqare(2)"],
    ),
    (
        "imported-name",
        "from a import sqare as f",
        Hints(missing={"sqare"}, meant={"sqare": "square"}),
        ["from a import square as f"],
    ),
    ("imported-module", "from .crat import Cart", Hints(modules={"crat": "cart"}), ["from .cart import Cart"]),
    ("imported-module", "from shop.crat import Cart", Hints(modules={"crat": "cart"}), ["from shop.cart import Cart"]),
    ("defined-name", "def squares(x):\n    pass", Hints(missing={"square"}), ["def square(x):\n    pass"]),
    ("wrong-attribute", "x.lenght", Hints(missing={"lenght"}, meant={"lenght": "length"}), ["x.length"]),
    ("empty-default", "x = max(y)", Hints(empty=True), ["x = max(y, default=0)", "x = max(y, default=None)"]),
    ("empty-default", "x = max(a for a in y)", Hints(empty=True), ["x = max((a for a in y), default=0)"]),
    ("default-value", "def f(a):\n    pass", Hints(missing={"a"}), ["def f(a=None):\n    pass"]),
    ("expected-value", "x = 'red'", Hints(pairs=(("red", "blue"),)), ["x = 'blue'"]),
    ("number", "x = 30", Hints(pairs=((100, 95),)), ["x = 25"]),
    ("string", "x = 'Hello '", Hints(pairs=(("Hello Ada", "Hello, Ada"),)), ["x = 'Hello, '"]),
    ("string", "x = ' '.join(y)", Hints(pairs=(("a b", "a\nb"),)), [r"x = '\n'.join(y)"]),
    ("off-by-one", "x = t[:n]", Hints(pairs=(("abcd", "a"),)), ["x = t[:n - 3]"]),
    (
        "missing-guard",
        "def f(x):\n    return x[0]",
        Hints(raised={"IndexError"}, crashes={("m.py", 2): "IndexError"}),
        ["def f(x):\n    if not x:\n        return None\n    return x[0]"],
    ),
    (
        "missing-guard",
        "def f(x):\n    return x.a",
        Hints(raised={"AttributeError"}, crashes={("m.py", 2): "AttributeError"}),
        ["def f(x):\n    if x is None:\n        return None\n    return x.a"],
    ),
    (
        "missing-base-case",
        "def f(n):\n    return n * f(n - 1)",
        Hints(raised={"RecursionError"}),
        ["def f(n):\n    if n <= 1:\n        return 1\n    return n * f(n - 1)"],
    ),
    (
        "missing-raise",
        "def f(n):\n    return n",
        Hints(unraised=("ValueError",)),
        ['def f(n):\n    if n < 0:\n        raise ValueError("n must not be negative")\n    return n'],
    ),
    ("wrong-exception", "raise KeyError(x)", Hints(wanted=("LookupError",)), ["raise LookupError(x)"]),
    (
        "wrong-exception",
        "try:\n    f()\nexcept KeyError:\n    pass",
        Hints(raised={"IndexError"}),
        ["try:\n    f()\nexcept (KeyError, IndexError):\n    pass"],
    ),
    (
        "hidden-exception",
        "try:\n    f()\nexcept KeyError:\n    pass",
        Hints(wanted=("KeyError",)),
        ["try:\n    f()\nexcept KeyError:\n    raise"],
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), ALL)
def test_it_makes_exactly_these_edits(name, text, expected):
    """A closed operator offers what the table says, in that order, and nothing else."""
    assert edited(name, text) == expected


@pytest.mark.parametrize(("name", "text", "expected"), SOME)
def test_it_makes_these_edits_among_others(name, text, expected):
    """An open operator offers at least what the table says."""
    assert set(expected) <= set(edited(name, text))


@pytest.mark.parametrize(("name", "text", "hints", "expected"), HINTED)
def test_it_listens_to_the_failure(name, text, hints, expected):
    """With what the failure says, an operator offers what the table says."""
    assert set(expected) <= set(edited(name, text, hints))


@pytest.mark.parametrize(
    "name", ["undefined-name", "missing-import", "empty-default", "missing-guard", "missing-raise", "expected-value"]
)
def test_without_a_hint_it_stays_silent(name):
    """Operators that live from what failures say offer nothing without it."""
    assert edited(name, "def f(x):\n    y = max(x)\n    return math.pi + 3\n") == []


def test_every_operator_has_a_table_a_weight_and_a_sentence():
    """No operator is registered without tests, likelihood and a doc line that ends like a sentence."""
    tested = {row[0] for row in (*ALL, *SOME, *HINTED)}
    assert tested == set(OPERATORS) == set(LIKELIHOOD)
    assert all(o.doc.endswith(".") and len(o.doc) > 15 for o in OPERATORS.values())
    assert all(0 < weight <= 1 for weight in LIKELIHOOD.values())


def test_a_guard_never_compares_with_a_literal_of_the_test():
    """The values that a test compares never become a condition: that would only special-case them."""
    hints = Hints(raised={"IndexError"}, crashes={("m.py", 2): "IndexError"}, pairs=((7, 4711), ("red", "blue")))
    text = "def f(x):\n    return x[0]\n"
    for operator in OPERATORS:
        for source in edited(operator, text, hints):
            assert "4711" not in source
            assert "blue" not in source
