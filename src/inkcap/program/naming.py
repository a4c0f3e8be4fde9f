"""Identifiers: safe Python names for whatever a drawing calls its things."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata

MODULE_NAMES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
    extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer
    register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory
    state_dict to to_empty train training type xpu zero_grad weight_names
    """.split()  # noqa: SIM905
)
"""What a torch module already calls its own; a layer of that name would break it."""

RESERVED = frozenset(
    {"self", "torch", "nn", "F", "Tensor", *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *MODULE_NAMES}
)


class Identifiers:
    """Gives each thing one identifier, ASCII, never reserved, never given twice."""

    def __init__(self) -> None:
        """Start with nothing taken."""
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def take(self, given: str) -> None:
        """Keep an identifier that was given elsewhere, letter by letter: cleaned again it may be cut to another."""
        self._taken.add(given)

    def of(self, name: str) -> str:
        """Give the identifier of a name; the same name always has the same."""
        if name not in self._given:
            self._given[name] = self.fresh(name)
        return self._given[name]

    def fresh(self, name: str) -> str:
        """Give an identifier like the name that nothing has yet."""
        stem = identifier(name)
        chosen, number = stem, 2
        while chosen in self._taken:
            chosen, number = f"{stem}_{number}", number + 1
        self._taken.add(chosen)
        return chosen


def identifier(name: str) -> str:
    """Turn any text into a safe identifier."""
    plain = unicodedata.normalize("NFKC", name)
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", plain)[:40].strip("_")
    if not cleaned or cleaned[0].isdigit():
        cleaned = f"c_{cleaned}".rstrip("_")
    return f"{cleaned}_" if cleaned in RESERVED else cleaned


def class_name(name: str) -> str:
    """Turn any text into a safe class name: ``my net`` becomes ``MyNet``."""
    plain = unicodedata.normalize("NFKC", name)
    words = re.findall(r"[A-Za-z0-9]+", plain)
    joined = "".join(word[0].upper() + word[1:] for word in words)[:40]
    if not joined or joined[0].isdigit():
        joined = f"Network{joined}"
    return f"{joined}Network" if joined in RESERVED else joined
