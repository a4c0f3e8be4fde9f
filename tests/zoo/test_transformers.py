"""Transformers of the zoo against torch's own layers, and what a row may see."""

from __future__ import annotations

import torch
from small_zoo import SMALL, draw_small
from torch import Tensor, nn

from inkcap.engine import build, initialise, load_weights, weights_of
from inkcap.network import check
from inkcap.zoo import NETWORKS


def encoder_layer(weights: dict[str, Tensor], block: str, width: int, heads: int, epsilon: float) -> nn.Module:
    """Torch's own block with the weights of one of ours."""
    theirs = nn.TransformerEncoderLayer(
        width, heads, 4 * width, 0.0, "gelu", epsilon, batch_first=True, norm_first=True, dtype=torch.float64
    )

    def own(name: str) -> Tensor:
        return weights[f"{block}.{name}"]

    entering = [own(f"norm1-attention{number}.weight") for number in ("", "-2", "-3")]
    state = {
        "self_attn.in_proj_weight": torch.cat(entering),
        "self_attn.in_proj_bias": torch.cat([own(f"attention.{b}") for b in ("bias", "keys_bias", "values_bias")]),
        "self_attn.out_proj.weight": own("attention-seen.weight"),
        "self_attn.out_proj.bias": own("seen.bias"),
        "linear1.weight": own("norm2-wide.weight"),
        "linear1.bias": own("wide.bias"),
        "linear2.weight": own("wide-sum.weight"),
        "linear2.bias": own("sum.bias"),
    }
    for norm in ("norm1", "norm2"):
        state |= {f"{norm}.weight": own(f"{norm}.row-norm.scale"), f"{norm}.bias": own(f"{norm}.row-norm.shift")}
    theirs.load_state_dict(state)
    return theirs.eval()


def small(name: str, seed: int = 4, **returns: str) -> tuple[nn.Module, dict[str, Tensor], dict]:
    """One of ours in float64, its weights, and what it was drawn with."""
    network = check(draw_small(name)).network
    module = build(network, returns).double().eval()
    initialise(module, network, seed)
    # Biases and scales start alike: other numbers tell them apart.
    generator = torch.Generator().manual_seed(seed)
    load_weights(
        module,
        {n: w + 0.1 * torch.randn(w.shape, generator=generator, dtype=w.dtype) for n, w in weights_of(module).items()},
    )
    return module, weights_of(module), SMALL[name]


def test_the_vision_transformer_is_the_one_of_torch() -> None:
    module, weights, drawn = small("vit_b_16", prob="U")
    width = drawn["width"]
    image = torch.randn((2, 3, *drawn["input"][:2]), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    patches = nn.functional.conv2d(image, weights["image-patches.weight"], weights["patches.bias"], drawn["patch"])
    rows = patches.flatten(2).transpose(1, 2)
    rows = torch.cat((weights["class-token.leading"].expand(2, -1, -1, -1)[:, 0], rows), 1) + weights["positions.bias"]
    for number in range(drawn["blocks"]):
        rows = encoder_layer(weights, f"encoder.{number}", width, drawn["heads"], 1e-6)(rows)
    scale, shift = weights["norm.row-norm.scale"], weights["norm.row-norm.shift"]
    gathered = nn.functional.layer_norm(rows[:, 0], (width,), scale, shift, 1e-6)
    wanted = nn.functional.linear(gathered, weights["flat-prob.weight"], weights["prob.bias"])
    assert wanted.abs().max() > 1e-2
    torch.testing.assert_close(module(image), wanted, rtol=1e-9, atol=1e-9)


def test_the_small_gpt_is_torch_under_a_causal_mask() -> None:
    module, weights, drawn = small("gpt_small", next="U")
    (length,) = drawn["input"]
    text = torch.randint(0, drawn["classes"], (3, length), generator=torch.Generator().manual_seed(1))
    rows = weights["tie:characters.weight"][text] + weights["rows.bias"]
    mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
    for number in range(2):
        rows = encoder_layer(weights, f"decoder.{number}", drawn["width"], drawn["heads"], 1e-5)(rows, mask)
    scale, shift = weights["norm.row-norm.scale"], weights["norm.row-norm.shift"]
    rows = nn.functional.layer_norm(rows, (drawn["width"],), scale, shift)
    torch.testing.assert_close(module(text)[:, 0], rows @ weights["tie:characters.weight"].T, rtol=1e-9, atol=1e-9)


def test_a_character_says_the_next_without_those_behind_it() -> None:
    module, _, drawn = small("gpt_small")
    text = torch.arange(drawn["input"][0])[None] % drawn["classes"]
    changed = text.clone()
    changed[0, 4] = (changed[0, 4] + 1) % drawn["classes"]
    before, after = module(text)[0, 0], module(changed)[0, 0]
    assert torch.equal(before[:4], after[:4])
    assert (before[4:] != after[4:]).any(1).all()


def test_both_products_count() -> None:
    """The multiply-adds that are published of the vision transformer have those of attention among them."""
    report = check(NETWORKS["vit_b_16"].draw())
    products = sum(capsule.multiply_adds for capsule in report.capsules.values())
    assert products == 12 * 2 * 197 * 197 * 768
    assert round(report.multiply_adds / 1e9, 2) == 17.56
