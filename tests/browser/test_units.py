"""Unit tests of the page's JavaScript modules."""

import numpy as np
import pytest

from browser.explorer_page import open_page
from regard.trace.packing import pack_array


@pytest.fixture
def js(page):
    """Run a JavaScript function body with an argument."""
    open_page(page)

    def run(code, given=None):
        return page.evaluate(f"async (given) => {{ {code} }}", given)

    return run


@pytest.mark.parametrize(("dtype", "error"), [("u8", 2e-3), ("u16", 1e-5), ("f16", 5e-4), ("f32", 0)])
def test_packed_arrays_are_restored(js, dtype, error):
    array = np.random.default_rng(0).random((2, 3, 4)).astype(np.float32)
    found = js(
        """const { unpack } = await import("regard/trace.js");
        const { data, shape } = unpack(given);
        return { data: Array.from(data), shape };""",
        pack_array(array, dtype),
    )
    assert found["shape"] == [2, 3, 4]
    np.testing.assert_allclose(np.reshape(found["data"], (2, 3, 4)), array, atol=error)


def test_all_half_precision_values_are_read(js):
    array = np.array([0, -0.5, 6e-8, 65504, -2048.5, 1e-4], np.float32)
    found = js(
        'return Array.from((await import("regard/trace.js")).unpack(given).data)',
        pack_array(array[None], "f16"),
    )
    np.testing.assert_array_equal(np.float32(found), np.float16(array).astype(np.float32))


def test_top_mass_keeps_the_fewest_weights_that_reach_a_share(js):
    found = js("""const { keepTopMass } = await import("regard/trace.js");
        const values = Float32Array.from([0.5, 0.3, 0.2, 0.1, 0.1, 0.8]);
        return Array.from(keepTopMass({ rows: 2, columns: 3, values }, 0.75).values);""")
    np.testing.assert_allclose(found, [0.5, 0.3, 0, 0, 0, 0.8], atol=1e-6)


def test_merging_into_words_sums_columns_and_averages_rows(js):
    found = js("""const { groupTokens } = await import("regard/trace.js");
        const values = Float32Array.from([0.1, 0.2, 0.7, 0.3, 0.3, 0.4]);
        const label = (...tokens) => ({ text: "", tokens, special: false });
        const matrix = { rows: 2, columns: 3, values };
        return Array.from(groupTokens(matrix, [label(0, 1)], [label(0), label(1, 2)]).values);""")
    np.testing.assert_allclose(found, [0.2, 0.8], atol=1e-6)


def test_entropy_is_0_for_one_key_and_1_for_uniform_weights(js):
    found = js("""const { meanEntropy } = await import("regard/trace.js");
        const row = (values) => ({ rows: 1, columns: values.length, values: Float32Array.from(values) });
        const of = (...values) => meanEntropy(row(values));
        return [of(1, 0, 0, 0), of(0.25, 0.25, 0.25, 0.25), of(0.251, 0.251, 0.251, 0.251)];""")
    assert found == pytest.approx([0, 1, 1], abs=1e-6)


def test_a_matrix_is_painted_with_masked_cells_hatched(js):
    found = js("""const { drawMatrix, layoutMatrix } = await import("regard/draw/matrix_image.js");
        const { cssColour, theme, weightColour } = await import("regard/theme.js");
        const calls = [];
        const surface = new Proxy({}, { get: (_, name) => (...all) => calls.push([name, ...all]) });
        const values = Float32Array.from([1, 0, 0.25, 0.75]);
        const picture = { matrix: { rows: 2, columns: 2, values },
          rows: ["<s> → a", "a → b"], columns: ["<s>", "a"], hidden: (row, column) => column > row };
        const at = layoutMatrix(picture, 600);
        drawMatrix(surface, picture, at, theme.value);
        const cells = calls.filter(([name, , , , , how]) => name === "rect" && how.fill);
        return { texts: calls.filter(([name]) => name === "text").map((call) => call[3]),
          last: cells.at(-1), expected: cssColour(weightColour(theme.value, 0.75)), at,
          hatched: calls.filter(([name]) => name === "hatch") };""")
    assert found["texts"] == ["<s> → a", "a → b", "<s>", "a"]
    at, (_, x, y, *_, how) = found["at"], found["last"]
    assert (x, y) == (at["left"] + at["cell"], at["top"] + at["cell"])
    assert how["fill"] == found["expected"]
    [(_, x, y, width, _, _)] = found["hatched"]
    assert (x, y, width) == (at["left"] + at["cell"], at["top"], at["cell"])


PAINTED = """const { drawMatrix, layoutMatrix, matrixCellAt } = await import("regard/draw/matrix_image.js");
  const { theme } = await import("regard/theme.js");
  const { rows, columns, room, locked } = given;
  const names = (count, letter) => Array.from({ length: count }, (_, i) => `${letter}${i}`);
  const matrix = { rows, columns, values: new Float32Array(rows * columns) };
  const picture = { matrix, rows: names(rows, "row"), columns: names(columns, "column"), locked };
  const at = layoutMatrix(picture, room);
  const texts = [];
  const surface = new Proxy({}, { get: (_, name) => (...all) => name === "text" && texts.push(all) });
  drawMatrix(surface, picture, at, theme.value);
  const last = matrixCellAt(picture, at, at.left + columns * at.cell - 1, at.top + rows * at.tall - 1);
  return { at, last, left: texts.filter(([x]) => x < at.left).map(([, y, text]) => [text, y]) };"""


def test_a_single_row_of_many_columns_is_readable(js):
    found = js(PAINTED, {"rows": 1, "columns": 128, "room": 500, "locked": [0]})
    assert found["at"]["tall"] >= 13 > found["at"]["cell"]
    assert [text for text, _ in found["left"]] == ["row0"]
    assert found["last"] == [0, 127]


def test_numbers_do_not_overlap_row_labels(js):
    found = js(PAINTED, {"rows": 60, "columns": 128, "room": 500, "locked": [1]})
    heights = dict(found["left"])
    assert {"row1", "20", "40"} <= heights.keys()
    assert "0" not in heights
    assert min(abs(heights["row1"] - y) for text, y in heights.items() if text != "row1") >= 12


def test_the_excerpt_of_a_hypothesis_shows_the_difference(js):
    words = [f"w{i}" for i in range(60)]
    other = [*words[:40], "else", *words[41:]]
    found = js(
        """const { excerpt, truncateWords } = await import("regard/hypothesis.js");
        const [text, other] = given;
        return [excerpt(other, text), excerpt("a b", "a c"), excerpt(text, text), truncateWords(text)];""",
        [" ".join(words), " ".join(other)],
    )
    assert found[0] == "… w35 w36 w37 w38 w39 else w41 w42 w43 w44 w45 …"
    assert found[1] == "a b"
    assert found[2].startswith("… ")
    assert found[3] == " ".join([*words[:15], "…"])


def test_a_figure_escapes_its_text(js):
    found = js("""const { svgSurface } = await import("regard/draw/surface.js");
        const surface = svgSurface(10, 10, "#fff");
        surface.text(1, 1, '<script>&"\\u0000', {});
        const parsed = new DOMParser().parseFromString(surface.toString(), "image/svg+xml");
        return [parsed.querySelector("parsererror") === null, parsed.querySelector("text").textContent];""")
    assert found == [True, '<script>&"�']


def test_an_effect_runs_once_per_frame_and_not_after_disposal(js):
    found = js("""const { computed, effect, signal } = await import("regard/signals.js");
        const frame = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
        const [a, b, seen] = [signal(1), signal(2), []];
        const sum = computed(() => a.value + b.value);
        const end = effect(() => seen.push(sum.value));
        a.value = 10; b.value = 20;
        await frame();
        end();
        a.value = 100;
        await frame();
        return seen;""")
    assert found == [3, 30]


def test_nested_effects_are_disposed_before_a_rerun(js):
    runs = js("""const { effect, scope, signal } = await import("regard/signals.js");
        const frame = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
        const [page, value, runs] = [signal("a"), signal(1), []];
        const [, dispose] = scope(() =>
          effect(() => {
            const name = page.value;
            effect(() => runs.push(`${name}${value.value}`));
          }),
        );
        page.value = "b"; value.value = 2;
        await frame();
        value.value = 3;
        await frame();
        dispose();
        page.value = "c"; value.value = 4;
        await frame();
        return runs;""")
    assert runs == ["a1", "b2", "b3"]


def test_an_effect_that_writes_its_input_reruns_in_the_next_frame(js):
    runs = js("""const { effect, signal } = await import("regard/signals.js");
        const frame = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
        const [count, runs] = [signal(0), []];
        effect(() => {
          runs.push(count.value);
          if (count.value < 2) count.value += 1;
        });
        const counts = [runs.length];
        for (let i = 0; i < 3; i++) {
          await frame();
          counts.push(runs.length);
        }
        return [runs, counts];""")
    assert runs == [[0, 1, 2], [1, 2, 3, 3]]


def test_csv_escapes_commas_quotes_and_newlines(js):
    found = js("""const { toCsv } = await import("regard/parts/downloads.js");
        return toCsv({ rows: ['a,"b"'], columns: ["x\\ny"], values: () => "1.5", corner: "c" });""")
    assert found == 'c,"x\ny"\r\n"a,""b""",1.5\r\n'


def test_a_word_of_several_tokens_is_read_from_the_text(js):
    found = js("""const { axisLabels } = await import("regard/trace.js");
        const token = (text, start, end, word) => ({ id: 9, piece: text, text, start, end, word });
        const tokens = [token("م", 0, 1, 0), token("…", 0, 1, 0), token("ص", 1, 2, 0), token("b", 3, 4, 1)];
        const trace = { source: { text: "مص b", tokens } };
        return axisLabels(trace, "encoder", { words: true }).rows.map((row) => row.text);""")
    assert found == ["مص", "b"]


@pytest.mark.parametrize("text", ["水が好き", "น้ำดี", "ນ້ຳດີ", "ទឹកល្អ", "ရေကောင်း"])
def test_each_token_of_a_script_without_spaces_can_be_selected(js, text):
    code = """const { wordUnits } = await import("regard/units.js");
        const token = (start) => ({ special: false, start, end: start + 1, word: 0 });
        const tokens = Array.from({ length: given.length }, (_, start) => token(start));
        return wordUnits(tokens, given).length;"""
    assert js(code, text) == len(text)
    assert js(code, "a" * len(text)) == 1


def test_every_block_of_the_model_has_its_name(js):
    names = js(
        """const { modelBlocks, blockName } = await import("regard/blocks.js");
        return modelBlocks(given).map(blockName);""",
        {
            **dict.fromkeys(("encoder_layers", "decoder_layers"), 1),
            **{"d_model": 8, "d_k": 4, "heads": 2, "d_ff": 16, "norm": "pre", "parameters": 5000},
            "vocab": {"source": 30, "target": 30},
        },
    )
    assert names == [
        "Embedding + position",
        *("Self-attention", "Feed-forward"),
        *("Masked self-attention", "Cross-attention", "Feed-forward"),
        *("Final norm", "Final norm"),
        "Embedding + position",
        "Linear, then softmax",
    ]
