"""The reference pages: they say what the code says today, and leave nothing out."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer

import inkcap
from inkcap.cli import app, commands
from inkcap.network import RULES, check
from inkcap.operations import VOCABULARY
from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS
from inkcap.zoo import NETWORKS

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The generator as a module: what `python tools/reference.py` runs, without a new process for each call."""
    spec = importlib.util.spec_from_file_location("reference_tool", ROOT / "tools" / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def test_the_pages_are_what_the_code_gives_today(tool: ModuleType, tmp_path: Path) -> None:
    assert tool.main([str(tmp_path)]) == 0
    made, kept = files(tmp_path), files(REFERENCE)
    assert sorted(made) == sorted(kept), "run 'make docs'"
    assert [name for name in made if made[name] != kept[name]] == [], "run 'make docs'"


def test_check_names_what_differs_and_what_is_left_over(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "pages", lambda: {"a.md": "a\n", "glyphs/b.svg": "b\n"})
    assert tool.main(["--check", str(tmp_path)]) == 1
    assert tool.main([str(tmp_path)]) == 0
    assert tool.main(["--check", str(tmp_path)]) == 0
    capsys.readouterr()
    (tmp_path / "a.md").write_text("other", encoding="utf-8")
    (tmp_path / "stray.md").write_text("stray", encoding="utf-8")
    assert tool.main(["--check", str(tmp_path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split(": differs")[0] for line in told] == [str(tmp_path / "a.md"), str(tmp_path / "stray.md")]
    assert tool.main([str(tmp_path)]) == 0
    assert files(tmp_path) == {"a.md": "a\n", "glyphs/b.svg": "b\n"}


def test_every_symbol_has_its_page_and_its_pictures() -> None:
    listed = re.findall(r"\[`(.+?)`\]\(symbols/(.+?)\.md\)", page("symbols.md"))
    assert listed == [(id, id) for id in (*CAPSULES, *CONNECTIONS, *PARTS)]
    assert len(set(listed)) == len(listed), "pages are named by ids, so no two symbols may share one"
    assert {path.stem for path in (REFERENCE / "symbols").glob("*.md")} == {id for id, _ in listed}
    for symbol in CAPSULES.values():
        for rank in symbol.ranks:
            picture = page(f"glyphs/{symbol.id}-{rank}.svg")
            assert symbol.glyph.path in picture
            assert symbol.title_of(rank) in page("symbols.md")
            assert f"![](../glyphs/{symbol.id}-{rank}.svg) {symbol.title_of(rank)}" in page(f"symbols/{symbol.id}.md")


@pytest.mark.parametrize(
    "symbol", [*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values()], ids=lambda symbol: symbol.id
)
def test_every_attribute_of_a_symbol_is_told(symbol) -> None:
    own = symbol.own_attributes if symbol.id in CAPSULES else symbol.attributes
    section = page(f"symbols/{symbol.id}.md")
    assert symbol.tooltip in section
    assert symbol.formula in section
    assert page(f"symbols/{symbol.id}.svg").startswith("<svg")
    # The opaque capsule alone computes nothing that could be printed.
    printed = ("## In PyTorch\n\n```text\n", "## In ONNX\n\n") if symbol.id != "opaque" else ()
    for part in (f"![]({symbol.id}.svg)", *printed):
        assert part in section
    if symbol.id in CAPSULES:
        assert {f"| `{port.name}` |" in section for port in symbol.ports if len(symbol.ports) > 1} <= {True}
    for attribute in own:
        assert f"| `{attribute.name}` |" in section
        assert attribute.help in section


def test_every_network_has_its_page_with_its_picture_and_its_numbers() -> None:
    pages = {path.stem for path in (REFERENCE / "networks").glob("*.md")}
    assert pages == {*NETWORKS, "README"}
    for known in NETWORKS.values():
        text = page(f"networks/{known.name}.md")
        assert str(known.reference) in text
        assert f"| parameters | {check(known.draw()).parameters:,}".replace(",", " ") in text
        pictures = re.findall(r"\]\((.+\.svg)\)", text)
        assert f"{known.name}.svg" in pictures
        assert all(page(f"networks/{name}").startswith("<svg") for name in pictures)


def test_every_rule_has_its_meaning_and_most_a_message() -> None:
    text = page("diagnostics.md")
    assert re.findall(r"^## `(.+)`$", text, re.MULTILINE) == [*RULES]
    for rule, meaning in RULES.items():
        assert f"## `{rule}`\n\n{meaning}\n" in text
    assert text.count("\nFor example, as ") >= 19


def test_every_command_and_option_is_told() -> None:
    commands.register()
    group = typer.main.get_command(app)
    text = page("command-line.md")
    for name, command in group.commands.items():
        section = text.split(f"## `inkcap {name}`\n")[1].split("\n## ")[0]
        for parameter in (one for one in command.params if not getattr(one, "hidden", False)):
            shown = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
            assert shown.replace("|", "\\|") in section, (name, shown)


def test_every_operation_and_every_public_name_is_told() -> None:
    for name in VOCABULARY:
        assert f"| `{name}` |" in page("operations.md")
    for name in inkcap.__all__:
        assert re.search(rf"^\| `{name}[`(]", page("python.md"), re.MULTILINE), name
