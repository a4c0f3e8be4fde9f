"""The mathematics of the paper in a real browser: derivations, rules, enumerations, Algorithm 1, and two states."""

import pytest
from hands import expect_total, expect_vertices, quick_add, serious, start_empty
from playwright.sync_api import expect

NODE = ".react-flow__node[data-id='{}']"


def open_zoo(page, name: str):
    page.click(f"[data-zoo='{name}']")
    page.wait_for_selector(".chip.ok")


def start_player(page, key: str) -> int:
    """Press the key of a mode and wait until it knows its steps; give their number."""
    page.keyboard.press(key)
    slider = page.wait_for_selector("#theory .player input:not([max='0'])", timeout=30_000)
    return int(slider.get_attribute("max"))


def expect_mark(page, id: str, tone: str):
    page.wait_for_selector(f"{NODE.format(id)} .mark.{tone}", state="attached")


def leave(page):
    page.keyboard.press("Escape")
    page.wait_for_selector("#theory", state="detached")


def test_the_derivation_of_lenet_is_replayed_rule_by_rule(page):
    open_zoo(page, "lenet_fig21_32-64-512")
    assert start_player(page, "d") == 8
    expect_mark(page, "a", "faint")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"{NODE.format('a')} .rule-badge >> text=r1")
    expect_mark(page, "b", "faint")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#theory >> text=b is a new neuron on the inputs {a}.")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#theory >> text=Rule of growth")
    page.wait_for_selector("#theory .rule-statement .katex")
    expect_mark(page, "c", "lit")
    expect_mark(page, "a", "done")
    opacity = "id => Number(getComputedStyle(document.querySelector(id)).opacity)"
    page.wait_for_function(f"id => ({opacity})(id) < 0.3", arg=NODE.format("h"))
    page.keyboard.press("ArrowLeft")
    expect_mark(page, "c", "faint")
    # Play goes on by itself and stops at the end.
    page.select_option("#theory .speed select", "10")
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("#theory output >> text=8 / 8")
    page.wait_for_selector("#theory [aria-label=Play]")
    expect_mark(page, "h", "lit")
    page.get_by_role("slider").fill("4")
    expect_mark(page, "d", "lit")
    page.get_by_role("slider").press("Escape")
    page.wait_for_selector("#theory", state="detached")
    expect(page.locator(".mark")).to_have_count(0)


def test_neurons_and_groups_are_derived_and_what_no_rule_makes_is_refused_in_a_sentence(page):
    open_zoo(page, "mlp-figure-22")
    assert start_player(page, "d") == 14
    page.keyboard.press("End")
    page.wait_for_selector("#theory [data-census='1']")
    leave(page)
    page.goto(page.url.split("#")[0])
    start_empty(page)
    for text in ("1D-data 4", "1D-ReLU 3", "1D-tanh 3", "1D-softmax 2"):
        quick_add(page, text)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Control+g")
    page.wait_for_selector(".react-flow__node-use.selected .group-box")
    expect_total(page, "35")
    assert start_player(page, "d") == 3
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".react-flow__node-use .mark.lit", state="attached")
    leave(page)
    page.keyboard.press("Escape")
    quick_add(page, "1D-data 2")
    page.wait_for_selector(".chip.bad")
    page.get_by_label("More attributes").click()
    page.get_by_role("menuitem", name="Replay the derivation").click()
    page.wait_for_selector("#theory [role=alert] >> text=the graph is in 2 parts")
    leave(page)
    page.keyboard.press("g")
    page.wait_for_selector("#theory [role=alert] >> text=the rules make neurons, and a is none")
    leave(page)


def test_a_network_grows_from_nothing_by_the_four_rules(page):
    start_empty(page)
    page.keyboard.press("g")
    for there in (1, 2):
        page.wait_for_selector("[data-rule=variable]:not([disabled])")
        assert page.locator("[data-rule=neuron]").is_disabled()
        page.keyboard.press("1")
        page.wait_for_selector(NODE.format(f"x{there}"))

    def apply(key: str, rule: str, made: str):
        page.wait_for_selector(f"[data-rule={rule}]:not([disabled])")
        page.keyboard.press(key)
        page.wait_for_selector(NODE.format(made))

    page.click(NODE.format("x1"))
    expect_mark(page, "x1", "picked")
    apply("2", "neuron", "h1")
    # By keys: go to x2 and choose it.
    page.click(NODE.format("x2"))
    page.wait_for_selector("[data-rule=neuron]:not([disabled])")
    page.keyboard.press("Escape")
    page.wait_for_selector(".mark.picked", state="detached")
    page.keyboard.press(" ")
    expect_mark(page, "x2", "picked")
    page.select_option("#theory .grow-line select", "tanh")
    apply("2", "neuron", "h2")
    page.click(NODE.format("h1"))
    page.click(NODE.format("h2"))
    page.wait_for_selector("[data-rule=growth][disabled] >> text=it has no h2")
    page.wait_for_selector("[data-rule=convergence] >> text=K = 2")
    apply("4", "convergence", "h3")
    expect_vertices(page, 5)
    page.wait_for_selector(".chip.ok")
    page.keyboard.press("Control+z")
    expect_vertices(page, 4)
    page.keyboard.press("Control+Shift+z")
    expect_vertices(page, 5)
    expect_total(page, "7")
    leave(page)
    assert start_player(page, "d") == 5
    page.keyboard.press("End")
    page.wait_for_selector(f"{NODE.format('h3')} .rule-badge >> text=r4")


def test_all_networks_of_a_size_are_counted_shown_and_opened(page):
    start_empty(page)
    page.keyboard.press("e")
    page.wait_for_selector("dialog [data-count='7']")
    expect(page.locator(".gallery li")).to_have_count(7)
    page.select_option("[data-size=m]", "3")
    page.wait_for_selector("dialog [data-count='105']")
    expect(page.locator(".gallery li")).to_have_count(60)
    page.get_by_role("button", name="More (45)").click()
    page.wait_for_selector(".gallery li:nth-child(105)")
    page.select_option("[data-choice=upTo]", "isomorphism")
    page.wait_for_selector("dialog [data-count='80']")
    page.select_option("[data-choice=upTo]", "order")
    page.wait_for_selector("dialog [data-count='105']")
    name = page.locator(".gallery li:nth-child(60) button").get_attribute("aria-label")
    assert name.startswith("Open as a drawing: h1 ← {x1, x2}; h2 ← ")
    page.click(".gallery li:nth-child(60) button")
    expect_vertices(page, 5)
    page.wait_for_selector(".chip.ok")
    page.wait_for_selector(".crumbs >> text=2-3 network 60")


def test_algorithm_1_is_walked_through_with_numbers_of_ones_own(page):
    open_zoo(page, "mlp_fig20_2-6-4-2")
    last = start_player(page, "s")
    assert last == 7 + 1 + 4 + 6
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#theory [data-tensor=Y] td")
    expect(page.locator("#theory [data-tensor=Y] td")).to_have_count(2)
    page.click("#theory summary")
    field = page.get_by_label("X a 1")
    field.fill("0.25")
    field.press("Enter")
    page.wait_for_selector("#theory [data-tensor=Y] td >> text=0.25")
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#theory .walk-now .katex")
    page.wait_for_selector(f"{NODE.format('b')} .mark.lit .heat", state="attached")
    page.wait_for_selector("[aria-current=step] >> text=Forwards")
    page.get_by_role("slider").fill(str(last))
    page.wait_for_selector("[aria-current=step] >> text=Update")
    page.wait_for_selector("#theory >> text=after the update")
    page.wait_for_selector(".wire-mark .heat")
    before = page.inner_text("#theory [data-tensor='ΔB']")
    page.get_by_role("button", name="Other random numbers").click()
    page.wait_for_function("old => document.querySelector(\"[data-tensor='ΔB']\").innerText !== old", arg=before)
    leave(page)


def test_large_tensors_are_told_in_short_and_a_malformed_drawing_is_refused(page):
    open_zoo(page, "lenet-digits")
    start_player(page, "s")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#theory >> text=This tensor is large")
    page.wait_for_selector("#theory >> text=norm")
    leave(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#inspector .katex")
    page.keyboard.press("Delete")
    page.wait_for_selector(".chip.bad")
    page.keyboard.press("s")
    page.wait_for_selector("#theory [role=alert] >> text=Algorithm 1 needs a well-formed drawing")


def test_two_states_are_compared_by_meaning_and_restored(page):
    start_empty(page)
    for text in ("1D-data 4", "1D-ReLU 3", "1D-softmax 2"):
        quick_add(page, text)
    expect_total(page, "23")
    page.wait_for_selector("#inspector .katex")
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowRight")
    page.click(NODE.format("b"))
    page.wait_for_selector("#inspector .katex")
    page.fill("#inspector [data-attribute=dimension]", "5")
    page.keyboard.press("Tab")
    expect_total(page, "25")
    page.locator("#canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.wait_for_selector(".compared-history")
    page.click("[data-seq='3'] input[name=older]")
    page.get_by_role("button", name="Compare the two").click()
    page.wait_for_selector(".compared.removed .compared-sign")
    expect_vertices(page, 3)
    page.wait_for_selector(".compared.changed .compared-sign")
    assert page.inner_text("#inspector .totals tr:first-child td").split() == ["23", "→", "25"]
    page.click("[data-difference='b']")
    page.wait_for_selector("#inspector .chosen-difference >> text=dimension")
    page.wait_for_selector("#inspector .chosen-difference del >> text=3")
    page.get_by_role("button", name="after", exact=True).click()
    expect_vertices(page, 2)
    # The edit before: c is still there, then it is removed.
    page.get_by_role("button", name="both", exact=True).click()
    page.get_by_role("button", name="The edit before").click()
    page.wait_for_selector(".compared.changed", state="detached")
    page.get_by_role("button", name="Restore before").click()
    page.wait_for_selector("#theory", state="detached")
    expect_vertices(page, 3)
    expect_total(page, "23")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_shut_out_and_both_languages_speak(page, theme):
    if theme == "dark":
        page.get_by_text("Dark mode").click()
        page.get_by_text("中文").click()
    open_zoo(page, "mlp_fig20_2-6-4-2")
    start_player(page, "d" if theme == "light" else "s")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(250)
    assert serious(page) == []
    if theme == "dark":
        page.wait_for_selector("#theory >> text=速度")
    leave(page)
    page.keyboard.press("g")
    page.wait_for_selector("#theory [role=alert]")
    assert serious(page) == []
    leave(page)
    page.keyboard.press("e")
    page.wait_for_selector(".gallery li")
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
