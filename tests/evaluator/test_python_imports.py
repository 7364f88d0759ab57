"""What imports bind, and names written by their text."""

from __future__ import annotations

import pytest

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.values import External, ExternalModule
from mlaprobe.evaluator.values.kinds import Closure, Model
from mlaprobe.evaluator.values.unknown import Unknown
from tests.evaluator.session import SourceSession, missing

# --- imports ---


def test_imports_of_the_package() -> None:
    session = SourceSession(
        {
            "pkg/__init__.py": "from .sub import names as names\nfrom . import m",
            "pkg/sub/__init__.py": "",
            "pkg/sub/names.py": "one = 1\ndef f(): return one",
            "pkg/m.py": """
                import pkg
                import pkg.sub.names
                import pkg.sub.names as alias
                from pkg import names
                from .sub.names import one, f as renamed
                from pkg import absent
            """,
        }
    )
    assert session.get("one") == 1
    assert session.call("renamed") == 1
    for path in ("names", "alias", "pkg.sub.names", "pkg.names"):
        assert repr(session.get(path)) == "ModuleRef(pkg.sub.names)"
    assert session.get("pkg.sub.names.one") == 1
    assert session.get("pkg").identity == session.get("pkg.m.pkg").identity
    assert missing(session, "pkg.absent") == "AttributeError"
    assert isinstance(session.get("absent"), Unknown)


def test_imports_from_outside() -> None:
    session = SourceSession(
        """
        import torch
        import torch.nn.functional as F
        import numpy as np
        from torch import bfloat16, nn
        import not_there
        """
    )
    assert isinstance(session.get("torch"), ExternalModule)
    assert repr(session.get("F")) == "ExternalModule(torch.nn.functional)"
    assert session.get("torch.bfloat16") == session.get("bfloat16") == "bf16"
    conv = session.get("nn.functional.conv1d")
    assert isinstance(conv, External)
    assert conv.dotted == "torch.nn.functional.conv1d"
    assert conv.key == session.get("torch.nn.functional.conv1d").key
    assert isinstance(conv.derive("==", conv, 1), Unknown)
    assert isinstance(session.get("not_there"), Unknown)
    assert isinstance(SourceSession("x = 1\nfrom collections import *").get("x"), Unknown)


def test_a_stage_may_model_a_whole_module() -> None:
    class Torch(Model):
        def get(self, name: str, span: Span) -> str:
            return f"torch {name}"

    session = SourceSession(
        "import torch\nfrom torch import x, bfloat16",
        externals={"torch": Torch(), "torch.bfloat16": "bf16"},
    )
    assert [session.get(n) for n in ("x", "bfloat16", "torch.y")] == ["torch x", "bf16", "torch y"]


def test_function_level_imports() -> None:
    session = SourceSession(
        """
        def there():
            import os.path
            from torch import bfloat16 as b
            return b
        def absent():
            import not_there.deep
        def odd():
            from pkg.m import nothing
        def guarded():
            try:
                from not_there import thing
                return thing()
            except ImportError:
                return False
        """
    )
    assert session.call("there") == "bf16"
    assert session.call("guarded") is False
    for name, how in (("absent", "ModuleNotFoundError"), ("odd", "ImportError")):
        with pytest.raises(Failed) as caught:
            session.call(name)
        assert caught.value.how == how


def test_a_folder_without_an_init_is_a_package() -> None:
    session = SourceSession(
        {
            "pkg/m.py": """
                from lib.cpp import util
                from lib.cpp.util import one
                import pkg.deep.x
                def f():
                    from lib.user import y
                    return y
            """,
            "lib/cpp/util.py": "one = 1",
            "pkg/deep/x.py": "two = 2",
            "lib/user.py": "from lib.cpp import util\ny = 3",
        }
    )
    assert session.get("one") == 1
    assert session.get("util.one") == 1
    assert session.call("f") == 3


def test_modules_beside_the_importer_and_on_its_path() -> None:
    session = SourceSession(
        {
            "pkg/jit/core.py": """
                import os, sys
                this_dir = os.path.dirname(os.path.abspath(__file__))
                sys.path.insert(0, f"{this_dir}/utils/")
                from chip import arch
            """,
            "pkg/jit/utils/chip.py": "from targets import NAMES\narch = NAMES[0]",
            "pkg/jit/utils/targets.py": "NAMES = ('gfx950',)",
        }
    )
    assert session.get("arch", "pkg.jit.core") == "gfx950"


STARS = {
    "pkg/__init__.py": """
        import sys
        if sys.platform == "win32":
            pass
        else:
            from .one import *
            from .two import *
            from .three import *
        from . import m
    """,
    "pkg/one.py": """
        import os
        from pkg import shared
        x = y = _hidden = 1
        def both(): return 1
    """,
    "pkg/two.py": """
        from .inner import *
        x = _shown = 2
        skipped = 1
        __all__ = ["x", "z", "_shown"]
    """,
    "pkg/inner.py": "z = 3",
    "pkg/three.py": "'Says y and z in a text only.'\nfrom pkg import y, shared\nhalf = 1",
    "pkg/shared.py": "k = 4",
    "pkg/m.py": "import pkg\nfrom pkg import x, shared",
}


def test_star_imports() -> None:
    session = SourceSession(STARS)
    assert session.get("x") == 2
    assert [session.get(f"pkg.{n}") for n in ("x", "y", "z", "_shown", "half")] == [2, 1, 3, 2, 1]
    assert isinstance(session.get("pkg.both"), Closure)
    assert repr(session.get("pkg.os")) == "ExternalModule(os)"
    assert session.get("shared.k") == session.get("pkg.shared.k") == 4
    for name in ("_hidden", "skipped", "absent"):
        assert missing(session, f"pkg.{name}") == "AttributeError"


def test_modules_that_cannot_have_a_name_are_not_parsed() -> None:
    session = SourceSession(STARS)
    assert session.get("pkg.half") == 1
    unparsed = session.module("pkg.two").index
    assert "tree" not in vars(unparsed)


def test_star_imports_that_import_each_other_do_not_loop() -> None:
    session = SourceSession(
        {
            "pkg/m.py": "from .a import *\nx = 1",
            "pkg/a.py": "from .b import *\ny = 2",
            "pkg/b.py": "from .a import *\nz = 3",
        }
    )
    assert [session.get(n) for n in "xyz"] == [1, 2, 3]
    assert missing(session, "w") == "NameError"


def test_an_unknown_all_makes_what_it_may_list_unknown() -> None:
    session = SourceSession(
        {"pkg/m.py": "from .a import *", "pkg/a.py": "__all__ = make()\nx = 1\ndef make(): ..."}
    )
    assert isinstance(session.get("x"), Unknown)


# --- names written by their text ---


@pytest.mark.parametrize(
    ("statement", "unknown"),
    [
        ("globals().update({f'ID_{n}': i for n, i in table.items()})", {"ID_x"}),
        ("globals().update({'x': 1})", {"x"}),
        ("globals().update(x=1)", {"x"}),
        ("globals()['x'] = 1", {"x"}),
        ("globals()[name()] = 1", {"x", "y", "ID_x"}),
        ("globals().update(table)", {"x", "y", "ID_x"}),
        ("globals().update({**table})", {"x", "y", "ID_x"}),
        ("globals().setdefault('x', 2)", {"x", "y", "ID_x"}),
        ("globals().update(globals().items())", {"x", "y", "ID_x"}),
        ("for n in table:\n    globals()[f'{n}_x'] = 1", {"ID_x"}),
        ("exec('x = 1')", {"x", "y", "ID_x"}),
        ("seen = globals().get('x')", set()),
        ("seen = {n: globals()[n] for n in table}", set()),
    ],
)
def test_names_written_by_their_text(statement: str, unknown: set[str]) -> None:
    session = SourceSession(f"x = 1\ny = 2\nID_x = 3\n{statement}\nlater = 4")
    found = {n for n in ("x", "y", "ID_x", "later") if isinstance(session.get(n), Unknown)}
    assert found == unknown
