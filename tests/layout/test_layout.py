"""The picture in the design and the code agree."""

import ast
import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from statistics import median

import pytest

_ROOT = Path(__file__).parents[2]
_SOURCE = _ROOT / "src"
_MODULES = sorted(
    ".".join(path.relative_to(_SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in _SOURCE.rglob("*.py")
)


def _python(program: str, *arguments: str) -> str:
    """Run a program in a fresh interpreter and return what it printed."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=_ROOT,
        env={"PYTHONPATH": str(_SOURCE), "PATH": ""},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_contracts_between_the_rooms_hold():
    tool = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("import-linter is not installed: pip install -e .[dev]")
    run = subprocess.run(
        [tool, "--no-cache"], capture_output=True, text=True, check=False, timeout=120, cwd=_ROOT
    )
    assert run.returncode == 0, run.stdout + run.stderr


_LOADED = """
import json, sys, time
before, began = set(sys.modules), time.process_time()
for name in sys.argv[1:]:
    __import__(name)
seconds = time.process_time() - began
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def test_the_core_and_the_trace_load_only_the_standard_library():
    pure = [name for name in _MODULES if name.startswith(("cuesta.core", "cuesta.trace"))]
    assert len(pure) > 10
    _, loaded = json.loads(_python(_LOADED, *pure))
    packages = {name.partition(".")[0] for name in loaded}
    assert packages - sys.stdlib_module_names == {"cuesta"}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("cuesta.")}
    assert rooms == {"core", "trace"}


def test_the_core_loads_no_heavy_part_of_the_standard_library():
    _, loaded = json.loads(_python(_LOADED, "cuesta.core.compact", "cuesta.core.ledger"))
    heavy = {"asyncio", "socket", "ssl", "logging", "urllib.request", "subprocess", "email", "http"}
    assert not heavy & {*loaded}


@pytest.mark.parametrize("name", ["cuesta", "cuesta.core"])
def test_loading_costs_little(name: str):
    seconds = [json.loads(_python(_LOADED, name))[0] for _ in range(5)]
    assert median(seconds) < 0.05


def test_the_package_is_lazy():
    _, loaded = json.loads(_python(_LOADED, "cuesta"))
    assert [name for name in loaded if name.startswith("cuesta.")] == []


_ALONE = """
import sys
for name in sys.argv[1:]:
    for loaded in [m for m in sys.modules if m.partition(".")[0] == "cuesta"]:
        del sys.modules[loaded]
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        adapter = name.startswith("cuesta.integrations.")
        if not adapter or error.name.partition(".")[0] in {"cuesta", *sys.stdlib_module_names}:
            print(name, repr(error))
    except BaseException as error:
        print(name, repr(error))
"""


def test_every_module_loads_alone():
    assert len(_MODULES) > 60
    assert _python(_ALONE, *_MODULES) == ""


def test_every_folder_of_code_is_a_package():
    folders = {path.parent for path in _SOURCE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def _exported(path: Path) -> list[str] | None:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as isort and ruff sort them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_public_names_are_sorted_and_can_be_imported():
    seen = 0
    for module in _MODULES:
        path = _SOURCE / Path(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        names = _exported(path)
        if names is None:
            continue
        seen += 1
        assert names == sorted(names, key=_order), module
        assert len(names) == len(set(names)), module
        loaded = import_module(module)
        assert all(getattr(loaded, name) is not None for name in names), module
    assert seen >= 2


@pytest.mark.parametrize(("folder", "most"), [("src", 400), ("benchmarks", 400), ("tests", 500)])
def test_no_file_is_long(folder: str, most: int):
    lengths = {
        path.relative_to(_ROOT): len(path.read_bytes().splitlines())
        for path in (_ROOT / folder).rglob("*.py")
    }
    assert lengths
    assert {path: length for path, length in lengths.items() if length > most} == {}


def test_no_two_test_files_share_a_name():
    names = [path.name for path in (_ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))


def test_every_room_says_what_it_is_for():
    silent = [
        path.relative_to(_ROOT)
        for path in _SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
