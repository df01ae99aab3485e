from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import (
    SettingTraits,
    apply_settings,
    build_section,
    merge_settings,
    parse_assignments,
    read_settings,
    read_task,
    run_traits,
    section_traits,
    setting,
    to_toml,
)
from regard.errors import ConfigError


@dataclass(frozen=True)
class Oven:
    heat: int = 180
    minutes: float | None = setting(None, can_change=True)
    mode: Literal["fan", "grill"] = "fan"
    light: bool = True
    name: str = "oven"


@dataclass(frozen=True)
class Shop:
    town: str | None = setting(None, is_path=True, flag="--town")
    wares: tuple[str, ...] = ()
    prices: tuple[float, ...] = ()


@dataclass(frozen=True)
class Kitchen:
    oven: Oven = field(default_factory=Oven)
    shop: Shop = field(default_factory=Shop)


def apply_assignments(*assignments: str) -> Kitchen:
    return apply_settings(Kitchen(), parse_assignments(assignments))


def test_assignments_take_the_type_of_their_setting():
    oven = apply_assignments(
        "oven.heat=200", "oven.minutes=3", "oven.mode=grill", "oven.light=false", "oven.name=12"
    ).oven
    assert oven == Oven(200, 3.0, "grill", False, "12")
    assert type(oven.minutes) is float


def test_none_is_written_as_none():
    assert apply_assignments("oven.minutes=4", "oven.minutes=none").oven.minutes is None


def test_text_is_none_when_empty_since_none_may_be_a_name():
    assert apply_settings(Kitchen(shop=Shop("Lyon")), {"shop": {"town": ""}}).shop.town is None
    assert apply_assignments("shop.town=none").shop.town == "none"


def test_lists_are_read_from_arrays_and_from_one_value():
    shop = apply_assignments('shop.wares=["a", "b, c"]', "shop.prices=[1, 2.5]").shop
    assert shop == Shop(None, ("a", "b, c"), (1.0, 2.5))
    assert apply_assignments("shop.wares=train.en", "shop.prices=2").shop == Shop(None, ("train.en",), (2.0,))
    assert apply_settings(Kitchen(), {"shop": {"wares": ["a"]}}).shop.wares == ("a",)
    assert apply_settings(Kitchen(shop=Shop(wares=("a",))), {"shop": {"wares": ""}}).shop.wares == ()


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("oven.heet=1", "oven.heet is not a setting; did you mean oven.heat?"),
        ("shop.minutes=1", "shop.minutes is not a setting; did you mean oven.minutes?"),
        ("ovn.heat=1", r"\[ovn\] is not a section; did you mean oven?"),
        ("garden.heat=1", r"\[garden\] is not a section; there are oven, shop"),
        ("oven.zzzzzz=1", "oven.zzzzzz is not a setting; there are oven.heat, .*shop.town"),
        ("oven.heat=hot", "oven.heat = 'hot' cannot work; it must be a whole number"),
        ("oven.heat=1.5", "oven.heat = 1.5 cannot work; it must be a whole number"),
        ("oven.heat=true", "oven.heat = True cannot work"),
        ("oven.minutes=x", "oven.minutes = 'x' cannot work; it must be a number or none"),
        ("oven.mode=steam", "oven.mode = 'steam' cannot work; it must be fan or grill"),
        (f"oven.heat={'9' * 5000}", "oven.heat = '999.* cannot work; it must be a whole number"),
        (f"oven.minutes={'9' * 400}", "oven.minutes = 999.* cannot work; it must be a number or none"),
        ("oven.light=yes", "oven.light = 'yes' cannot work; it must be true or false"),
        ("shop.wares=[1]", r"shop.wares = \[1\] cannot work; it must be text, or a list"),
        ('shop.prices=[1, "b"]', r"shop.prices = \[1, 'b'\] cannot work; it must be a number, or a list"),
        ("oven.heat", "--set oven.heat is not section.key=value"),
        ("heat=3", "--set heat=3 is not section.key=value"),
    ],
)
def test_an_invalid_assignment_is_refused_with_the_valid_ones(assignment, message):
    with pytest.raises(ConfigError, match=message):
        apply_assignments(assignment)


def test_a_run_survives_a_round_trip_through_toml(tmp_path):
    run = Kitchen(
        Oven(220, None, "grill", False, 'a "quoted" \\ name\n\tété 🎉'),
        Shop("Besançon", ('a "b"', "c,"), (1.0, 0.5)),
    )
    path = tmp_path / "run.toml"
    path.write_text(to_toml(run), encoding="utf-8")
    assert apply_settings(Kitchen(), read_settings(path)) == run


@given(
    heat=st.integers(-(2**60), 2**60),
    minutes=st.floats(allow_nan=False, allow_infinity=False),
    name=st.text(),
)
def test_any_value_survives_a_round_trip_through_toml(tmp_path_factory, heat, minutes, name):
    run = Kitchen(Oven(heat=heat, minutes=minutes, name=name))
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(to_toml(run), encoding="utf-8", newline="\n")
    assert apply_settings(Kitchen(), read_settings(path)) == run


def test_later_layers_win_key_by_key():
    merged = merge_settings(
        {"oven": {"heat": 1, "light": False}}, {"oven": {"heat": 2}, "shop": {"town": "Lyon"}}
    )
    assert merged == {"oven": {"heat": 2, "light": False}, "shop": {"town": "Lyon"}}


def test_a_section_is_built_with_its_keys_checked():
    assert build_section(Oven, "oven", {"heat": 3}) == Oven(heat=3)
    with pytest.raises(ConfigError, match="did you mean oven.heat"):
        build_section(Oven, "oven", {"heta": 3})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("heat = 1", "heat stands outside a section"),
        ("[oven", "is not valid TOML"),
        (b"\xff", "is not valid TOML"),
        ("[" + "a." * 50_000 + "b]", "it has a key of too many parts"),
        ("[oven]\nheat = {" + "a." * 50_000 + "b = 1}", "it has a key of too many parts"),
        ("heat = " + "[" * 100_000, "its values are nested too deeply"),
        ("#" * 2**18 + "#", "it has more than 262,144 bytes"),
    ],
)
def test_an_invalid_run_file_is_refused(tmp_path, content, message):
    path = tmp_path / "run.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message):
        read_settings(path)


def test_a_missing_run_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nowhere.toml does not exist"):
        read_settings(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match="is a folder"):
        read_settings(tmp_path)


def test_settings_have_their_traits():
    assert section_traits(Oven)["minutes"] == SettingTraits(can_change=True)
    traits = run_traits(Kitchen())
    assert list(traits)[:2] == ["oven.heat", "oven.minutes"]
    assert traits["oven.heat"] == SettingTraits()
    assert traits["shop.town"] == SettingTraits(is_path=True, flag="--town")


def test_a_run_file_without_a_task_is_for_translation(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[oven]\nheat = 1\n")
    assert read_task(path) == "translation"
    path.write_text('task = "forecasting"\n[oven]\nheat = 1\n')
    assert (read_task(path), read_settings(path)) == ("forecasting", {"oven": {"heat": 1}})
    path.write_text("task = 3\n")
    with pytest.raises(ConfigError, match="task = 3 cannot work; it must be text"):
        read_task(path)
